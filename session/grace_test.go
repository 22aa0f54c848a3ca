package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// graced is WithGrace, freed with the world.
func (w *world) graced(ctx context.Context, grace time.Duration) context.Context {
	g, free := WithGrace(ctx, grace)
	w.Cleanup(free)
	return g
}

func TestContextWithGraceEndsThatMuchAfterItsSource(t *testing.T) {
	type key struct{}
	errMine := errors.New("mine")
	inWorld(t, nil, nil, func(w *world) {
		h := w.holdPath(w.s, "/h")
		outer, stop := context.WithCancelCause(context.WithValue(w.ctx, key{}, 1))
		both, end := WithHolds(outer, h.Context())
		defer end(nil)
		timed, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		began := time.Now()
		byHand, byTime := w.graced(both, 5*time.Second), w.graced(timed, time.Second)
		require.Equal(w, 1, byHand.Value(key{}))
		deadline, ok := byTime.Deadline()
		require.True(w, ok)
		require.Equal(w, 2*time.Second, deadline.Sub(began))
		child, quit := context.WithCancel(byTime)
		defer quit()
		<-child.Done()
		require.Equal(w, 2*time.Second, time.Since(began))
		require.Equal(w, context.DeadlineExceeded, byTime.Err())
		require.Equal(w, context.DeadlineExceeded, context.Cause(byTime))
		stop(errMine)
		w.sleep(5*time.Second - 1)
		require.NoError(w, byHand.Err())
		<-byHand.Done()
		require.Equal(w, 7*time.Second, time.Since(began))
		require.Equal(w, context.Canceled, byHand.Err())
		require.Equal(w, errMine, context.Cause(byHand))
	})
}

func TestContextWithoutGraceOrBeyondItsEndIsTheSource(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, grace := range []time.Duration{0, -1} {
		g, free := WithGrace(ctx, grace)
		free()
		require.Equal(t, ctx, g)
		require.NoError(t, ctx.Err())
	}
	cancel()
	g, free := WithGrace(ctx, time.Hour)
	defer free()
	require.Equal(t, ctx, g, "nothing is in progress yet")
}

func TestContextWithGraceEndsWhenItIsFreed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g, free := WithGrace(ctx, time.Hour)
	free()
	require.Equal(t, context.Canceled, g.Err())
	<-g.Done()
	cancel()
	require.Equal(t, context.Canceled, g.Err())
}

// Holds are not extended: the loss or the release of a hold ends the contexts
// derived from it at once, before the grace and during it.
func TestLossOrReleaseEndsTheGrace(t *testing.T) {
	errMine := errors.New("mine")
	for _, cause := range []error{lost(ErrNodeDeleted), ErrReleased} {
		for _, stopped := range []bool{false, true} {
			for name, derive := range map[string]func(ctx context.Context, a, b *Hold) (context.Context, func()){
				"joined": func(ctx context.Context, a, b *Hold) (context.Context, func()) {
					both, end := WithHolds(ctx, b.Context(), a.Context())
					return both, func() { end(nil) }
				},
				"joined twice": func(ctx context.Context, a, b *Hold) (context.Context, func()) {
					one, end := WithHolds(ctx, a.Context())
					two, stop := WithHolds(one, b.Context())
					return two, func() { stop(nil); end(nil) }
				},
				"in a grace": func(ctx context.Context, a, b *Hold) (context.Context, func()) {
					one, end := WithHolds(ctx, a.Context())
					two, free := WithGrace(one, time.Second)
					three, stop := WithHolds(two, b.Context())
					return three, func() { stop(nil); free(); end(nil) }
				},
			} {
				t.Run(fmt.Sprint(name, ", ", cause, ", stopped before: ", stopped), func(t *testing.T) {
					inWorld(t, nil, nil, func(w *world) {
						a, b := w.holdPath(w.s, "/a"), w.holdPath(w.s, "/b")
						outer, stop := context.WithCancelCause(w.ctx)
						both, end := derive(outer, a, b)
						defer end()
						ctx := w.graced(both, time.Hour)
						if stopped {
							stop(errMine)
							w.sleep(10 * time.Second) // its own grace has begun
						}
						require.NoError(w, ctx.Err())
						began := time.Now()
						a.End(cause)
						<-ctx.Done()
						require.Zero(w, time.Since(began))
						require.Error(w, ctx.Err())
						require.Equal(w, cause, context.Cause(ctx))
						stop(nil)
						b.End(nil)
					})
				})
			}
		}
	}
}

// After a pause of the process the grace is over at once if the hold is lost,
// also for derived contexts.
func TestGraceLooksAtTheClock(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		inWorld(t, nil, nil, func(w *world) {
			h := w.holdPath(w.s, "/h")
			outer, stop := context.WithCancel(w.ctx)
			defer stop()
			both, end := WithHolds(outer, h.Context())
			defer end(nil)
			ctx := w.graced(both, time.Hour)
			child, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			if stopped {
				stop()
				w.sleep(time.Second)
			}
			require.NoError(w, ContextErr(child))
			w.suspend(time.Hour)
			require.Error(w, ctx.Err())
			require.ErrorIs(w, ContextErr(child), context.Canceled)
			require.ErrorIs(w, context.Cause(child), ErrTrustRanOut)
			require.ErrorIs(w, context.Cause(ctx), ErrTrustRanOut)
		})
	}
}

// A context of context.WithoutCancel is independent of its parent.
func TestGraceHasNothingToDoWithWhatWasReleasedBefore(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.holdPath(w.s, "/h")
		ctx, stop := context.WithCancel(context.WithoutCancel(h.Context()))
		h.End(ErrReleased)
		g := w.graced(ctx, time.Minute)
		stop()
		w.sleep(time.Minute - 1)
		require.NoError(w, g.Err())
		<-g.Done()
	})
}

// A release during the grace, with a context of the grace, waits for the server as long
// as the grace lasts.
func TestContextWithoutReleaseLastsAsLongAsTheGrace(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		a, b := w.holdPath(w.s, "/a"), w.holdPath(w.s, "/b")
		outer, stop := context.WithCancel(w.ctx)
		one, end := WithHolds(outer, a.Context())
		defer end(nil)
		g := w.graced(one, time.Minute)
		two, quit := WithHolds(g, b.Context())
		defer quit(nil)
		u, free := WithoutRelease(two)
		defer free()
		began := time.Now()
		b.End(ErrReleased)
		<-two.Done()
		stop()
		<-u.Done()
		require.Equal(w, time.Minute, time.Since(began))

		c := w.holdPath(w.s, "/c")
		outer, stop = context.WithCancel(w.ctx)
		one, end = WithHolds(outer, c.Context())
		defer end(nil)
		u, free = WithoutRelease(w.graced(one, time.Minute))
		defer free()
		c.End(ErrReleased)
		w.sleep(time.Second)
		require.NoError(w, u.Err(), "the context around the hold still counts")
		stop()
		<-u.Done()
		a.End(nil)
	})
}
