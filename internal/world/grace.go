package world

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// Graceful runs a function under a hold, with the option Grace.
type Graceful struct {
	// Dir is the folder of the hold's znode.
	Dir string
	Do  func(ctx context.Context, c *session.Client, grace time.Duration, fn func(ctx context.Context) error) error
	// Confirms: the end of ctx, or of the grace, is not an error.
	Confirms bool
}

// graceRun is a Do running concurrently with the test.
type graceRun struct {
	client *session.Client
	stop   context.CancelCauseFunc
	own    context.Context // the function's
	finish chan error      // the function's result if its context does not end
	out    chan error
}

var errStopped = errors.New("shutting down") // read only

func (g Graceful) start(w *World, grace time.Duration) *graceRun {
	ctx, stop := context.WithCancelCause(w.Ctx)
	r := &graceRun{client: w.Client(), stop: stop, finish: make(chan error, 1), out: make(chan error, 1)}
	began := make(chan context.Context, 1)
	// Waited for by the tests; ends with the function.
	go func() {
		r.out <- g.Do(ctx, r.client, grace, func(ctx context.Context) error {
			began <- ctx
			select {
			case err := <-r.finish:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	r.own = <-began
	return r
}

// ends requires the result of a Do told to stop, without a loss.
func (g Graceful) ends(w *World, err error) {
	w.Helper()
	if g.Confirms {
		require.NoError(w, err)
		return
	}
	require.ErrorIs(w, err, errStopped)
}

// Test tests the function's context at the end of Do's context.
func (g Graceful) Test(t *testing.T) {
	const grace = 5 * time.Second
	for name, body := range map[string]func(w *World){
		"no grace": func(w *World) {
			r := g.start(w, 0)
			began := time.Now()
			r.stop(errStopped)
			g.ends(w, <-r.out)
			require.Less(w, time.Since(began), time.Second)
		},
		"the function returns by itself": func(w *World) {
			r := g.start(w, grace)
			next := make(chan error, 1)
			r.stop(errStopped)
			// Waited for below; ends after its turn.
			go func() { next <- g.Do(w.Ctx, w.Client(), grace, func(context.Context) error { return nil }) }()
			w.Pass(grace - time.Second)
			require.NoError(w, r.own.Err())
			require.Len(w, w.Children(g.Dir), 2, "a holder and a waiter")
			require.Empty(w, next)
			r.finish <- nil
			require.NoError(w, <-r.out)
			require.NoError(w, <-next)
			w.Settle()
			require.Empty(w, w.Children(g.Dir))
		},
		"the function fails in the grace": func(w *World) {
			r := g.start(w, grace)
			r.stop(errStopped)
			w.Pass(time.Second)
			r.finish <- ErrBroken
			require.ErrorIs(w, <-r.out, ErrBroken)
		},
		"the function does not return in time": func(w *World) {
			r := g.start(w, grace)
			w.Pass(time.Minute)
			began := time.Now()
			r.stop(errStopped)
			<-r.own.Done()
			require.Equal(w, grace, time.Since(began))
			require.Equal(w, errStopped, context.Cause(r.own))
			g.ends(w, <-r.out)
			w.Settle()
			require.Empty(w, w.Children(g.Dir))
		},
		"a loss in the grace": func(w *World) {
			r := g.start(w, time.Hour)
			r.stop(errStopped)
			w.Pass(time.Second)
			require.NoError(w, r.own.Err())
			began := time.Now()
			w.Expire(r.client)
			<-r.own.Done()
			require.Less(w, time.Since(began), 5*time.Second)
			require.ErrorIs(w, context.Cause(r.own), session.ErrLost)
			require.ErrorIs(w, <-r.out, session.ErrLost)
		},
		"an outage in the grace": func(w *World) {
			r := g.start(w, time.Hour)
			r.stop(errStopped)
			w.Pass(time.Second)
			began := time.Now()
			require.NoError(w, w.Server.Stop(1))
			<-r.own.Done()
			require.Less(w, time.Since(began), session.DefaultTimeout)
			require.ErrorIs(w, context.Cause(r.own), session.ErrTrustRanOut)
			require.ErrorIs(w, <-r.out, session.ErrLost)
			require.NoError(w, w.Server.Restart(1))
		},
		"a negative grace": func(w *World) {
			err := g.Do(w.Ctx, w.Client(), -1, func(context.Context) error { return ErrBroken })
			require.ErrorContains(w, err, "Grace is -1ns; it must be 0 or more")
		},
	} {
		t.Run(name, func(t *testing.T) { In(t, nil, body) })
	}
}
