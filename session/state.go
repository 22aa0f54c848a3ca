package session

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/await"
)

// Status is the status of a client's session.
type Status int

// The statuses. A suspended session has no connection, and lives on: holds stay held
// until TrustedUntil. Lost means that there is no session; the client is making the
// next one, unless it is closed.
const (
	Connecting Status = iota // the first session is being made
	Connected
	Suspended
	Lost
	Closed
)

func (s Status) String() string {
	switch s {
	case Connecting:
		return "connecting"
	case Connected:
		return "connected"
	case Suspended:
		return "suspended"
	case Lost:
		return "lost"
	case Closed:
		return "closed"
	}
	return "unknown"
}

// State is a client's state at one moment.
type State struct {
	Status Status
	// Since is the time at which the status began. No two states of a client have the
	// same, so that a later connection is told from an earlier one.
	Since time.Time
	// Session is the id of the session, or of the last session after a loss.
	Session int64
	// Server is the address of the server last connected to.
	Server string
	// TrustedUntil is, while something is held, the time at which the session
	// will be given up unless a proof comes before; otherwise the end of the last
	// proof.
	TrustedUntil time.Time
	// ReadOnly is, with Options.ReadOnly, the server without a quorum that answers the reads
	// of [Client.ReadSession]; otherwise empty.
	ReadOnly string
	// Cause says why the session is suspended, lost or closed. For a suspended
	// session, Client.State has the error of the last attempt to reconnect, if
	// any; for a lost session, both.
	Cause error
}

// states publishes a client's state.
type states struct {
	// mu guards the rest: changes are those of present. The states of the session muted are kept back in unsaid, which has the last of them.
	mu      sync.Mutex
	present State
	report  func(State) // gets each change; never blocks
	changes await.Changes
	muted   *Session
	unsaid  State
	reading string // State.ReadOnly
}

func newStates(now time.Time) *states {
	return &states{present: State{Since: now}, report: func(State) {}}
}

func (s *states) get() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present, s.changes.Next()
}

// muteUntilTrialEnds keeps the states of s back, until it is unmuted or another one is muted.
func (s *states) muteUntilTrialEnds(of *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted, s.unsaid = of, State{}
}

// unmute publishes the last state of the muted session, as set does, and returns it.
func (s *states) unmute() (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = nil
	return s.unsaid, s.setLocked(s.unsaid)
}

// setOf is set for a state of one session.
func (s *states) setOf(of *Session, state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.muted == of {
		s.unsaid = state
		return false
	}
	return s.setLocked(state)
}

// set publishes state, and reports whether it changed anything. Closed is
// final, and so is Lost for the session that it names: the report of a
// connection that came about at the moment of the loss may arrive after it.
func (s *states) set(state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setLocked(state)
}

func (s *states) setLocked(state State) bool {
	switch last := s.present; {
	case last.Status == Closed:
		return false
	case last.Status == Lost && last.Session != 0 && last.Session == state.Session && state.Status != Closed:
		return false
	}
	if !state.Since.After(s.present.Since) {
		state.Since = s.present.Since.Add(1)
	}
	state.ReadOnly = s.reading
	s.present = state
	s.report(state)
	s.changes.Announce()
	return true
}

// setReading publishes the server without a quorum that is read from, "" for none. The rest
// of the state stays.
func (s *states) setReading(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading = server; s.present.Status != Closed {
		s.present.ReadOnly = server
		s.changes.Announce()
	}
}

// State returns the present state.
func (c *Client) State() State {
	c.mustBeMade()
	state, _ := c.states.get()
	if s := c.current(); s != nil && s.ID() == state.Session {
		state.TrustedUntil = s.renewer.leaseEnd()
		if failure := s.link.Failure(); failure != nil && state.Status == Suspended {
			state.Cause = failure
		}
	}
	if state.Status == Lost {
		state.Cause = c.explainNoConnection(state.Cause)
	}
	return state
}

// States iterates over the client's states: first the present state, then each
// newer state that differs. The iteration may skip states that passed while the
// loop's body ran, and never goes back. It ends after Closed, or with ctx, whose
// error is the last element.
func (c *Client) States(ctx context.Context) iter.Seq2[State, error] {
	c.mustBeUsable(ctx)
	return func(yield func(State, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(State{}, endError(ctx))
				return
			}
			_, changed := c.states.get()
			state := c.State()
			if !yield(state, nil) || state.Status == Closed {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}
