package discoverycmd

import (
	"context"
	"iter"
	"sync"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// registration is a registration that the library keeps over lost sessions.
type registration interface {
	State() discovery.State
	States(context.Context) iter.Seq2[discovery.State, error]
}

// renewedHold is a registration as a thing to hold. A renewedHold is never lost
// for good, so its command runs on; zkr notes when the registration is away,
// and when it is back.
type renewedHold struct {
	registration
	ctx context.Context // does not end while the command runs
}

// Context never ends by a loss.
func (k renewedHold) Context() context.Context { return k.ctx }

// Path is the present znode.
func (k renewedHold) Path() string { return k.State().Path }

// Session is nil: the session changes.
func (k renewedHold) Session() *session.Session { return nil }

// holdRegistered makes a hold of a registration; end ends the registration.
func holdRegistered(ctx context.Context, a *app, g registration, what string, vars []string, end func(context.Context) error) *supervise.Hold {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	was := g.State()
	was.Registered = true // the caller got a registration that was made
	var teller sync.WaitGroup
	// Waited for by release; ends with release, or with the client.
	teller.Go(func() {
		for s, err := range g.States(ctx) {
			switch {
			case err != nil:
				return
			case s.Registered && (!was.Registered || s.Token != was.Token):
				// States may skip the moment between two registrations.
				a.Note("%s is registered again", what)
			case !s.Registered && was.Registered:
				a.Note("%s is temporarily not registered: %v", what, s.Err)
			}
			was = s
		}
	})
	return &supervise.Hold{Holdable: renewedHold{g, ctx}, Vars: vars, Release: func(ctx context.Context) error {
		// The wanted end needs no note.
		cancel()
		teller.Wait()
		return end(ctx)
	}}
}
