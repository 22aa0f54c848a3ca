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
	resting = "restarting"
)

// State is the state of a member at one moment.
type State struct {
	// Phase is "stopped" (Run is not running), "joining", "waiting for the
	// instance" (another member of the same instance must go), "member",
	// "leaving" (everything is being given up), or "restarting" (see
	// Options.RestartDelay).
	Phase string
	// Client is the name of the client's znode; empty while none exists.
	Client string
	// Coordinator: the member coordinates the group.
	Coordinator bool
	// Suspended: the client has no connection at the moment. Resources stay owned
	// until the session is given up.
	Suspended bool
	// Owned is the number of resources that the handler has been told of.
	Owned int
	// Missing, with Options.StartWhenComplete, is the number of assigned
	// resources that the member does not own yet. Until Missing is 0, the handler
	// is not told of any new resource.
	Missing int
	// Failing, with Options.RetryDelay, is the number of resources that failed
	// last and are retried.
	Failing int
	// Err, of a coordinator, says why nothing is shared out: the result of its
	// assignor is invalid; the assignor is called again when something changes. In
	// the phase "restarting" it is the reason why the membership ended.
	Err error
	// Since is the time at which this state began, Suspended not counted.
	Since time.Time
}

// State returns the present state.
func (g *Group) State() State {
	g = g.orZero()
	g.mu.Lock()
	s := g.state
	g.mu.Unlock()
	if s.Phase == "" {
		return State{Phase: stopped} // New has not made it
	}
	s.Suspended = g.client != nil && s.Phase != stopped && g.client.State().Status == session.Suspended
	return s
}

// States iterates over the states: first the present state, then each newer state
// that differs. The iteration may skip states that passed while the loop's body
// ran, and never goes back. It does not follow Suspended; see
// session.Client.States. It ends with ctx, whose error is the last element; if an
// argument of New is invalid, that error is the only element.
func (g *Group) States(ctx context.Context) iter.Seq2[State, error] {
	g = g.orZero()
	return func(yield func(State, error) bool) {
		if err := checkUsable(ctx, g.client, "rebalanser.New", g.err); err != nil && (ctx == nil || ctx.Err() == nil) {
			yield(State{Phase: stopped}, failure(ctx, "states of", g.Path(), err))
			return
		}
		for {
			g.mu.Lock()
			changed := g.changes.Next()
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

// setState tells a state, if it is another one.
func (g *Group) setState(s State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Since = g.state.Since
	if s == g.state {
		return
	}
	s.Since = time.Now()
	g.state = s
	g.changes.Announce()
}
