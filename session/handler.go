package session

import (
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// handler hears from the session's link.
type handler struct{ s *Session }

func (h handler) Attached(sent time.Time, first bool) {
	s := h.s
	if first {
		h.initSession()
	} else if granted := s.link.Timeout(); granted < s.renewer.timing.timeout {
		// This server's limits are lower, and its leader counts by them from
		// now on: nothing that was proved so far holds.
		s.end(refusedTimeout(s.renewer.timing.timeout, granted), true)
		return
	}
	s.renewer.onAttach(sent)
	s.mu.Lock()
	close(s.attached)
	s.connected = true
	if s.stopProbe != nil {
		s.stopProbe()
	}
	s.mu.Unlock()
	s.client.report(s, Connected, nil)
	if first {
		close(s.ready)
		s.spawn(s.renewer.run)
		return
	}
	s.subs.reattach()
}

// initSession sets what is known once the server has made the session.
func (h handler) initSession() {
	s := h.s
	granted, asked := s.link.Timeout(), s.client.opts.Timeout
	timing, err := newTiming(granted, s.client.opts.TickTime)
	if asked != 0 && asked != granted {
		err = refusedTimeout(asked, granted)
	}
	if s.client.opts.Trust == TrustAnswered && errors.Is(err, ErrTimeoutTooShort) {
		err = nil // that rule needs no heartbeats, and looks as often as others
		timing.heartbeat = max(timing.heartbeat, granted/10)
	}
	if err == nil {
		timing, err = timing.withReserve(s.client.opts.StopMargin)
	}
	var share shareTiming
	if err == nil && s.client.opts.SharedHeartbeats != "" {
		share, err = newShareTiming(timing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = s.link.SessionID()
	if !s.reads { // nothing can be held
		s.refusal = err
	}
	s.renewer = newLeaseRenewer(s, s.client.opts.Trust, timing)
	s.renewer.sharing = newSharing(&s.client.opts, s.id, share, s.client.random)
}

func (h handler) Unplugged() {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected {
		s.connected, s.attached = false, make(chan struct{})
	}
}

func (h handler) Detached(cause error) {
	s := h.s
	h.Unplugged()
	s.client.noteDetached(s)
	s.renewer.onDetach()
	s.subs.detached()
	s.watches.fireAll(EventDisconnected)
	if s.Err() == nil {
		s.client.report(s, Suspended, cause)
	}
}

func (h handler) Answered(sent time.Time, zxid int64, committed bool) {
	if committed {
		h.s.client.noteCommitted(h.s, zxid)
	}
	h.s.renewer.onReply(sent, zxid, committed)
}

func (h handler) Event(ev wire.Event) {
	h.s.watches.fire(ev)
	h.s.subs.fire(ev)
}

func (h handler) Ended(cause error) {
	s := h.s
	s.cancel(lost(reason(cause)))
	s.client.noteDetached(s)
	select {
	case <-s.ready:
		s.renewer.stop()
	default:
		// No caller has the session yet, so nothing is held in it. The lease renewer
		// must not be touched here: the end can come while the first connection
		// attaches, when the lease renewer may be under construction.
	}
	s.watches.fireAll(EventSessionOver)
	s.subs.endAll()
	s.client.report(s, Lost, s.Err())
	// Waited for through s.closed; ends when go-zookeeper has, within a few
	// seconds.
	go s.closeInBackground()
}

// reason translates why a link ended.
func reason(cause error) error {
	switch {
	case errors.Is(cause, wire.ErrExpired):
		return ErrExpired
	case errors.Is(cause, wire.ErrReplaced):
		return ErrReplaced
	case errors.Is(cause, wire.ErrAuthRequired):
		return ErrAuthRequired
	case errors.Is(cause, wire.ErrAuthFailed):
		return ErrAuthFailed
	}
	return cause
}
