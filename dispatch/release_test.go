package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// A released task is neither done nor failed: the next attempt has the same
// number, even for the last attempt.
func TestReleasedTaskIsTriedAgainAndTheAttemptDoesNotCount(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		var first *dispatch.Attempt
		var token int64
		returned := make(chan struct{})
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			if first != nil {
				token = a.Token()
				return a.Payload, nil
			}
			first = a
			defer close(returned)
			require.NoError(w, a.Context().Err())
			_, err := a.Session().Txn(ctx, a.Guard())
			require.NoError(w, err)
			w.ResetStats()
			require.NoError(w, a.Release(ctx))
			require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
			require.ErrorIs(w, context.Cause(a.Context()), session.ErrReleased)
			_, err = a.Session().Txn(w.Ctx, a.Guard())
			require.ErrorIs(w, err, session.ErrNoNode)
			require.NoError(w, a.Release(w.Ctx), "the result of the first call")
			return nil, dispatch.ErrPermanent // ignored
		}, nil)
		q := w.queue()
		id := w.submit(q, dispatch.Task{Payload: []byte("x"), MaxAttempts: 1})
		r := w.collect(q, id)
		require.Equal(w, "x", string(r.Output))
		require.EqualValues(w, "done", r.State)
		require.Equal(w, 1, r.Attempt)
		<-returned // it may still be looking
		require.Greater(w, token, first.Token())
		require.NoError(w, first.Release(w.Ctx), "the result of the first call")
	})
}

func TestReleaseAfterTheHandlerHasReturnedChangesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		var a *dispatch.Attempt
		w.worker(func(_ context.Context, given *dispatch.Attempt) ([]byte, error) {
			a = given
			return nil, nil
		}, nil)
		q := w.queue()
		require.EqualValues(w, "done", w.collect(q, w.submit(q, dispatch.Task{})).State)
		w.Settle()
		require.ErrorIs(w, a.Release(w.Ctx), session.ErrReleased)
		require.ErrorIs(w, context.Cause(a.Context()), session.ErrReleased)
	})
}

// The assignment has gone, known to the worker or not.
func TestReleaseOfALostTaskSaysSo(t *testing.T) {
	for _, told := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			w.master(nil)
			released, first := make(chan error, 2), true
			w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
				if !first { // the master gives the task again
					return nil, nil
				}
				first = false
				require.NoError(w, w.Server.Delete(a.Path()))
				if told {
					<-ctx.Done()
				}
				released <- a.Release(w.Ctx)
				<-ctx.Done()
				defer func() { released <- a.Release(w.Ctx) }() // says the same
				return nil, nil
			}, &dispatch.WorkerOptions{Concurrency: 1})
			w.submit(w.queue(), dispatch.Task{})
			require.ErrorIs(w, <-released, session.ErrLost)
			require.ErrorIs(w, <-released, session.ErrLost)
		})
	}
}

// The task ends once, and nothing is left, whatever happens to the release.
func TestReleaseUnderEveryFault(t *testing.T) {
	t.Parallel()
	type play struct {
		*crew
		goOn     chan struct{}
		released chan error
	}
	tr := world.Trial{
		Name: "release",
		Setup: func(e *matrix.Env, p *world.Party) error {
			goOn, asked, released := make(chan struct{}), new(atomic.Bool), make(chan error, 1)
			c := startCrew(e, p, "mW", func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
				if !asked.CompareAndSwap(false, true) {
					world.Pause(5 * time.Second) // the worker's own transaction is not under test
					return a.Payload, nil
				}
				<-goOn
				released <- a.Release(ctx)
				return nil, errors.New("ignored")
			})
			p.State = play{c, goOn, released}
			_, err := c.queue.Submit(context.Background(), dispatch.Task{ID: "x", MaxAttempts: 2})
			world.Pause(time.Second)
			return err
		},
		Counts: func(r zktest.Request) bool {
			return r.Op == "multi" && !r.OnlyChecks
		},
	}
	c := tr.Case()
	c.Op = func(_ context.Context, e *matrix.Env) error {
		k := e.State.(*world.Party).State.(play)
		close(k.goOn)
		if err := <-k.released; err != nil && !errors.Is(err, session.ErrLost) {
			return fmt.Errorf("Release: %w", err)
		}
		return nil
	}
	c.Check = func(e *matrix.Env) error {
		p := e.State.(*world.Party)
		p.State = p.State.(play).crew
		return checkRest(e)
	}
	explore(t, c, true)
}
