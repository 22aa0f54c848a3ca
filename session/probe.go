package session

import (
	"context"
	"errors"
	"time"
)

// errNoServerMakesSession ends a session on trial that no server has made.
var errNoServerMakesSession = errors.New("no server makes a session")

// HandshakeFailed notes that servers refuse the session. Without a quorum they do that to
// all clients, and take the session back after. An ensemble that was recreated empty, or
// restored from a backup, does it for good: so after two timeouts, awaitEndOrRefusal finds out.
func (h handler) HandshakeFailed(since time.Time) {
	s := h.s
	if s.now().Sub(since) < 2*s.link.Timeout() {
		return
	}
	select {
	case s.refused <- since:
	default: // the last one has not been looked at yet
	}
}

// awaitEndOrRefusal waits for the end of s, or of the client. If the servers refuse s for good,
// it ends s, and returns the session that they have made instead; nil otherwise.
func (c *Client) awaitEndOrRefusal(s *Session) *Session {
	var last, series time.Time
	served := 0 // how many probes of the series a server has answered
	for {
		select {
		case <-s.ctx.Done():
			return nil
		case <-c.life.Done():
			return nil
		case since := <-s.refused:
			now := s.now()
			if !since.Equal(series) {
				series, served = since, 0
			} else if now.Sub(last) < s.Timeout() {
				continue
			}
			last = now
			next, verdict := c.probeServers(s)
			if verdict != unserved {
				served++
			}
			if s.Err() != nil {
				return next
			}
			// A server that makes new sessions also accepts an old session, if it has
			// the session's zxids. If it refuses this session for a whole timeout for
			// another reason, that reason will not go away.
			if (verdict == wentBack || served > 1) && s.endRefused() {
				if verdict == wentBack {
					c.forgetSeen(s)
				}
				return next
			}
			next.closeUnused()
		}
	}
}

// probeResult is a probe's result about the ensemble.
type probeResult int

const (
	unserved probeResult = iota // no server makes a session
	serving                     // a server makes sessions
	wentBack                    // a server does, and lacks zxids that the client has seen
)

// probeServers asks each server once for a new session, for as long as s has no connection, and
// returns it. The zxid tells whether s can be had back: a session is made by a
// transaction, and behind a sync a server knows of all that was committed before.
func (c *Client) probeServers(s *Session) (*Session, probeResult) {
	ctx, cancel := context.WithCancel(c.life)
	defer cancel()
	if !s.setProbe(cancel) {
		return nil, unserved
	}
	defer s.setProbe(nil)
	next, err := newSession(ctx, c, onTrial)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrUnreachable) || errors.Is(err, errNoServerMakesSession) {
			return nil, unserved
		}
		return nil, serving // its refusal is for the client's next session to report
	}
	limit, stop := context.WithTimeout(ctx, s.Timeout()/3)
	defer stop()
	if next.Sync(limit, "/") != nil {
		return next, serving
	}
	if next.link.LastZxid() < s.link.LastZxid() {
		return next, wentBack
	}
	return next, serving
}

// setProbe has the next connection of the session call cancel, and reports whether
// the session has no connection yet.
func (s *Session) setProbe(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopProbe = cancel
	return !s.connected
}

// endRefused ends the session with ErrRefused, unless it has a connection again.
func (s *Session) endRefused() bool {
	s.mu.Lock()
	plugged := s.connected
	s.mu.Unlock()
	if plugged {
		return false
	}
	s.end(ErrRefused, true)
	return true
}

// closeUnused closes s, which must not be used any more. s may be nil.
func (s *Session) closeUnused() {
	if s != nil {
		s.end(ErrClosed, true)
		<-s.closed
	}
}

func (s *Session) isOnTrial() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trial
}

// adoptTrial makes a session that was made on trial the client's.
func (c *Client) adoptTrial(s *Session) {
	s.mu.Lock()
	s.trial = false
	connected := s.connected
	s.mu.Unlock()
	if connected && !c.endReading(s) {
		s.link.Drop(errBehind) // on its next connection, it catches up
	}
	if !s.isConnected() { // not any more, perhaps
		c.noteDetached(s)
	}
	c.publish(s)
	c.states.unmute()
}
