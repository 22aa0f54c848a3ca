package main

import (
	"context"
	"iter"
	"sync"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// registration is what the library keeps registered over lost sessions.
type registration interface {
	State() discovery.State
	States(context.Context) iter.Seq2[discovery.State, error]
}

// kept is a registration as a thing to hold. It is never lost for good, so that
// its command runs on; people are told when it is away, and when it is back.
type kept struct {
	registration
	ctx context.Context // does not end while the command runs
}

// Context never ends by a loss.
func (k kept) Context() context.Context { return k.ctx }

// Path is the present znode.
func (k kept) Path() string { return k.State().Path }

// Session is none: it changes.
func (k kept) Session() *session.Session { return nil }

// keep makes a grant of a registration, which end ends.
func (a *app) keep(ctx context.Context, g registration, what string, vars []string, end func(context.Context) error) *grant {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var teller sync.WaitGroup
	// Waited for by release; ends with it, or with the client.
	teller.Go(func() {
		was := true
		for s, err := range g.States(ctx) {
			switch {
			case err != nil, s.Registered == was:
			case s.Registered:
				a.note("%s is registered again", what)
			default:
				a.note("%s is not registered for the time being: %v", what, s.Err)
			}
			was = s.Registered
		}
	})
	return &grant{holdable: kept{g, ctx}, vars: vars, release: func(ctx context.Context) error {
		// Nobody is told of the end that is wanted.
		cancel()
		teller.Wait()
		return end(ctx)
	}}
}
