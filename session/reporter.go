package session

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/mailbox"
	"github.com/zkrecipes/zkrecipes/observe"
)

// reporter reports the events of a client's sessions to the client's observer. A nil
// reporter, of a client without an observer, does nothing.
//
// The events are posted by goroutines that move bytes, or hold a mutex, and are reported
// by a goroutine of the reporter's own: an observer may be slow, or call the client.
type reporter struct {
	c        *Client
	id       uint64 // see observe.SessionChanged
	to       observe.Observer
	requests observe.RequestObserver // nil: to does not receive requests
	box      *mailbox.Mailbox[posted]
	done     sync.WaitGroup
}

// startReporter starts the reporter of c; nil without an observer.
func startReporter(c *Client) *reporter {
	to := c.opts.Observer
	if to == nil {
		return nil
	}
	r := &reporter{c: c, id: max(1, rand.Uint64()), to: to, box: mailbox.New[posted]()}
	r.requests, _ = to.(observe.RequestObserver)
	begun, _ := c.states.get()
	// Waited for by wait; ends with the event of the client's end.
	r.done.Go(func() { r.run(begun) })
	return r
}

// posted is an event, or a new state of which run makes an event; or neither: a sample is due.
type posted struct {
	event observe.Event
	state *State
}

// wait waits until every event has been reported, after the last one was posted.
func (r *reporter) wait() {
	if r != nil {
		r.done.Wait()
	}
}

// postHeartbeat posts the end of a heartbeat of session s that was sent.
func (r *reporter) postHeartbeat(s *Session, took time.Duration, err error) {
	if r != nil && !NotSent(err) {
		e := observe.HeartbeatEnded{Client: r.id, Session: s.ID(), Took: took, Err: err}
		e.Holds, e.TrustLeft = s.renewer.account()
		r.box.Post(posted{event: e})
	}
}

// postTrustLow posts that the trust in session s runs low.
func (r *reporter) postTrustLow(s *Session, holds int, left time.Duration) {
	r.box.Post(posted{event: observe.TrustLow{Client: r.id, Session: s.ID(), Holds: holds, TrustLeft: left}})
}

// postSample asks for a sample of the present session.
func (r *reporter) postSample() {
	if r != nil {
		r.box.Post(posted{})
	}
}

func (r *reporter) postState(s State) {
	if r != nil {
		r.box.Post(posted{state: &s})
	}
}

// run reports what is posted, and how long the client has been without a connection. The
// client was in state last.
func (r *reporter) run(last State) {
	tick := time.NewTimer(firstTick)
	defer tick.Stop()
	disconnected, pause := last.Since, firstTick
	sample := time.NewTicker(samplePeriod)
	defer sample.Stop()
	for {
		select {
		case <-r.box.Ready():
		case <-sample.C:
			r.reportSample()
		case now := <-tick.C:
			r.reportNoConnection(last, now.Sub(disconnected))
			tick.Reset(pause)
			pause = min(2*pause, time.Minute)
		}
		due := false
		for _, p := range r.box.Take() {
			switch {
			case p.event != nil:
				r.to.Observe(r.c.life, p.event)
				continue
			case p.state == nil:
				due = true
				continue
			}
			if p.state.Status == Lost && errors.Is(p.state.Cause, ErrClosed) {
				continue // the client is being closed, which is no loss
			}
			r.to.Observe(r.c.life, r.changed(last, *p.state))
			switch {
			case p.state.Status == Connected:
				tick.Stop()
			case last.Status == Connected:
				disconnected, pause = p.state.Since, firstTick
				tick.Reset(pause)
			}
			last = *p.state
		}
		if last.Status == Closed {
			return
		}
		if due {
			r.reportSample()
		}
	}
}

// samplePeriod is the time between two samples of a session, unless one is asked for.
const samplePeriod = 10 * time.Second

func (r *reporter) reportSample() {
	s := r.c.current()
	if s == nil || s.Err() != nil {
		return
	}
	e := observe.SessionSampled{Client: r.id, Session: s.ID(), Watches: s.watches.count() + s.subs.count()}
	e.Holds, e.TrustLeft = s.renewer.account()
	s.mu.Lock()
	e.Deletions = s.pending
	s.mu.Unlock()
	r.to.Observe(r.c.life, e)
}

// firstTick is when a client without a connection says so for the first time: meanwhile a
// server is restarted, or another one found.
const firstTick = time.Second

// changed is the event in which the state last is followed by the state next.
func (r *reporter) changed(last, next State) observe.SessionChanged {
	return observe.SessionChanged{
		Client: r.id, Status: next.Status.String(), Session: next.Session, Server: next.Server,
		Before: last.Status.String(), Took: next.Since.Sub(last.Since), Err: next.Cause,
	}
}

func (r *reporter) reportNoConnection(last State, since time.Duration) {
	e := observe.NoConnection{Client: r.id, Status: last.Status.String(), Session: last.Session, For: since, Err: r.c.connectFailure()}
	if s := r.c.current(); s != nil {
		e.Holds, e.TrustLeft = s.renewer.account()
	}
	r.to.Observe(r.c.life, e)
}

// timed starts the time of a request and returns what to call with its result.
func (r *reporter) timed(op, path string, s *Session) func(error) {
	if r == nil || r.requests == nil {
		return func(error) {}
	}
	began := s.now()
	return func(err error) {
		r.requests.ObserveRequest(r.c.life, observe.Request{Op: op, Path: path, Took: s.now().Sub(began), Result: resultOf(err), Err: err})
	}
}

// resultOf is the class of a request's result.
func resultOf(err error) observe.Result {
	switch {
	case err == nil:
		return observe.OK
	case errors.Is(err, ErrUnknownOutcome), Unanswered(err):
		return observe.Unanswered
	case NotSent(err), errors.Is(err, ErrLost):
		return observe.NotSent
	case errors.Is(err, ErrNoNode), errors.Is(err, ErrNodeExists), errors.Is(err, ErrBadVersion), errors.Is(err, ErrNotEmpty):
		return observe.Negative
	}
	return observe.Refused
}
