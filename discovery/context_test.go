package discovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// A context that was handed out ends with the keeping, whatever ends that.
func TestContextOfEveryTypeEndsWithTheClient(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				g := w.register(registry(c), typed("one", typ))
				ctx := g.Context()
				require.NoError(w, c.Close(w.Ctx))
				w.Settle()
				require.ErrorIs(w, context.Cause(ctx), session.ErrClosed)
				require.ErrorIs(w, g.State().Err, session.ErrClosed)
			})
		})
	}
}

// A refused move ends the context of the registration, which then has a new
// context. States reports the change, so that work under the registration can
// go on.
func TestRefusedMoveIsReportedByStates(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				r := registry(w.Client())
				other := w.register(registry(w.Client()), discovery.Instance{Service: "api", ID: "one"})
				g := w.register(r, typed("one", typ))
				var under context.Context
				follower, stop := context.WithCancel(w.Ctx)
				over := make(chan struct{})
				// Waited for below; ends with follower.
				go func() {
					defer close(over)
					for s, err := range g.States(follower) {
						if err == nil && s.Registered {
							under = g.Context()
						}
					}
				}()
				w.Settle()
				i := g.Instance()
				i.Type = discovery.Dynamic
				require.ErrorIs(w, g.Move(w.Ctx, "api", i), discovery.ErrConflict)
				w.Pass(time.Second)
				stop()
				<-over
				require.True(w, g.State().Registered)
				require.NoError(w, g.Context().Err())
				require.NoError(w, under.Err(), "a follower of the states has the live context")
				w.unregister(g)
				w.unregister(other)
			})
		})
	}
}
