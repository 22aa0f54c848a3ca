package rebalanser

import (
	"context"
	"iter"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// The phases of a State.
const (
	stopped = "stopped"
	joining = "joining"
	waiting = "waiting for the instance"
	joined  = "member"
	leaving = "leaving"
)

// State is what a member is like at one moment.
type State struct {
	// Phase is "stopped" (Run is not under way), "joining", "waiting for the
	// instance" (another member of the same instance has to go), "member", or
	// "leaving" (everything is being given up).
	Phase string
	// Client is the name of the client's node; empty while there is none.
	Client string
	// Coordinator: it coordinates the group.
	Coordinator bool
	// Suspended: there is no connection at the moment. What is owned stays so
	// until the session is given up.
	Suspended bool
	// Owned is how many resources the handler has been told of.
	Owned int
	// Err, of a coordinator, says why nothing is shared out: the result of its
	// assignor is none. It is asked again when something changes.
	Err error
	// Since is when this began, Suspended not counted.
	Since time.Time
}

// State is the present one.
func (g *Group) State() State {
	g.mu.Lock()
	s := g.state
	g.mu.Unlock()
	s.Suspended = s.Phase != stopped && g.client.State().Status == session.Suspended
	return s
}

// States iterates over the states: first the present one, then each newer one that
// differs. It may skip states that passed while the loop's body ran; it never goes
// back. It does not follow Suspended, which session.Client.States tells. It ends with
// ctx, whose error is the last element.
func (g *Group) States(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for {
			g.mu.Lock()
			changed := g.changed
			g.mu.Unlock()
			if !yield(g.State(), nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(g.State(), failure(ctx, "states of", g.Path(), context.Cause(ctx)))
				return
			}
		}
	}
}

// set tells a state, if it is another one.
func (g *Group) set(s State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Since = g.state.Since
	if s == g.state {
		return
	}
	s.Since = time.Now()
	g.state = s
	close(g.changed)
	g.changed = make(chan struct{})
}
