package session

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Status is what a client's session is like.
type Status int

// The statuses. A suspended session has no connection, and lives on: what is
// held stays held until TrustedUntil. Lost means that there is no session; the
// client is making the next one, unless it is closed.
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
	// Since is when the status began.
	Since time.Time
	// Session is the id of the session, of the last one if it is lost.
	Session int64
	// Server is the address of the server last connected to.
	Server string
	// TrustedUntil is, while something is held, when the session will be
	// given up unless its life is proved before; otherwise the end of the
	// last proof, which nobody needs.
	TrustedUntil time.Time
	// Cause says why the session is suspended, lost or closed.
	Cause error
}

// states publishes a client's state.
type states struct {
	// mu guards present and changed, which is closed and replaced whenever
	// present changes.
	mu      sync.Mutex
	present State
	changed chan struct{}
}

func newStates(now time.Time) *states {
	return &states{present: State{Since: now}, changed: make(chan struct{})}
}

func (s *states) get() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present, s.changed
}

// set publishes state, and reports whether it changed anything. Closed is
// final, and so is Lost for the session that it names: the report of a
// connection that came about at the moment of the loss may arrive after it.
func (s *states) set(state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch last := s.present; {
	case last.Status == Closed:
		return false
	case last.Status == Lost && last.Session != 0 && last.Session == state.Session && state.Status != Closed:
		return false
	}
	s.present = state
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// State returns the present state.
func (c *Client) State() State {
	state, _ := c.states.get()
	if s := c.current(); s != nil && s.ID() == state.Session {
		state.TrustedUntil = s.keeper.until()
	}
	return state
}

// States iterates over the client's states: first the present one, then each
// newer one that differs. It may skip states that passed while the loop's body
// ran; it never goes back. It ends after Closed, or with ctx, whose error is
// the last element.
func (c *Client) States(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(State{}, ended(ctx))
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
