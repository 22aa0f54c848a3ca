package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (w *world) holdPath(s *Session, path string) *Hold {
	w.Helper()
	_, err := s.Create(w.ctx, path, nil, Ephemeral, nil)
	require.NoError(w, err)
	h, err := s.Hold(w.ctx, path, nil)
	require.NoError(w, err)
	return h
}

// A context derived from a hold's context does not look at the clock by itself:
// ContextErr does, for any kind of derivation.
func TestContextErrLooksAtTheClockForDerivedContexts(t *testing.T) {
	type key struct{}
	derive := map[string]func(h *Hold) (context.Context, context.CancelFunc){
		"the hold's own": func(h *Hold) (context.Context, context.CancelFunc) { return h.Context(), func() {} },
		"with a timeout": func(h *Hold) (context.Context, context.CancelFunc) {
			return context.WithTimeout(h.Context(), time.Hour)
		},
		"with a value, twice derived": func(h *Hold) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.WithValue(h.Context(), key{}, 1))
			inner, stop := context.WithTimeout(ctx, time.Hour)
			return inner, func() { stop(); cancel() }
		},
		"joined with another": func(h *Hold) (context.Context, context.CancelFunc) {
			both, end := WithHolds(context.Background(), h.Context())
			ctx, cancel := context.WithTimeout(both, time.Hour)
			return ctx, func() { cancel(); end(nil) }
		},
		"joined below it": func(h *Hold) (context.Context, context.CancelFunc) {
			both, end := WithHolds(h.Context())
			ctx, cancel := context.WithTimeout(both, time.Hour)
			return ctx, func() { cancel(); end(nil) }
		},
		"joined with a derived one": func(h *Hold) (context.Context, context.CancelFunc) {
			child, cancel := context.WithTimeout(h.Context(), time.Hour)
			both, end := WithHolds(context.Background(), child)
			return both, func() { cancel(); end(nil) }
		},
	}
	for name, derive := range derive {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				s := w.s
				h := w.holdPath(s, "/h")
				ctx, cancel := derive(h)
				defer cancel()
				require.NoError(w, ContextErr(ctx))
				// The process was paused: the clock has moved, and no timer or packet.
				w.suspend(time.Hour)
				require.ErrorIs(w, ContextErr(ctx), context.Canceled)
				require.ErrorIs(w, context.Cause(ctx), ErrTrustRanOut)
				require.Error(w, ctx.Err())
			})
		})
	}
}

func TestContextErrIsThatOfAContextWithoutHolds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, ContextErr(ctx))
	cancel()
	require.ErrorIs(t, ContextErr(ctx), context.Canceled)
	inWorld(t, nil, nil, func(w *world) {
		h := w.holdPath(w.s, "/h")
		free := context.WithoutCancel(h.Context())
		h.End(nil)
		require.NoError(w, ContextErr(free), "made by WithoutCancel, so the context must not end")
	})
}

func TestJoinedContextEndsWithTheFirstThatEnds(t *testing.T) {
	errMine := errors.New("mine")
	inWorld(t, nil, nil, func(w *world) {
		s := w.s
		for i, end := range []func(a, b *Hold, stop, cancel context.CancelCauseFunc){
			func(a, _ *Hold, _, _ context.CancelCauseFunc) { a.End(errMine) },
			func(_, b *Hold, _, _ context.CancelCauseFunc) { b.End(errMine) },
			func(_, _ *Hold, stop, _ context.CancelCauseFunc) { stop(errMine) },
			func(_, _ *Hold, _, cancel context.CancelCauseFunc) { cancel(errMine) },
		} {
			a, b := w.holdPath(s, "/a"+string(rune('0'+i))), w.holdPath(s, "/b"+string(rune('0'+i)))
			outer, stop := context.WithCancelCause(w.ctx)
			ctx, cancel := WithHolds(outer, a.Context(), b.Context())
			require.NoError(w, ctx.Err())
			end(a, b, stop, cancel)
			<-ctx.Done()
			require.Equal(w, errMine, context.Cause(ctx))
			stop(nil)
			cancel(nil)
			a.End(nil)
			b.End(nil)
		}
	})
}

// A context without release ends with every context it is derived from, except
// with the release of a hold.
func TestContextWithoutReleaseEndsWithEverythingElse(t *testing.T) {
	errMine := errors.New("mine")
	inWorld(t, nil, nil, func(w *world) {
		s := w.s
		h := w.holdPath(s, "/h")
		outer, stop := context.WithCancelCause(w.ctx)
		both, end := WithHolds(outer, h.Context())
		defer end(nil)
		const d = time.Minute
		timed, cancel := context.WithTimeout(both, d)
		defer cancel()
		mine, quit := context.WithCancelCause(both)
		started := time.Now()

		unreleased := func(ctx context.Context) context.Context {
			u, free := WithoutRelease(ctx)
			w.Cleanup(free)
			return u
		}
		before := unreleased(both)
		deadline := unreleased(timed)
		user := unreleased(mine)
		alone := unreleased(h.Context())
		freed, free := WithoutRelease(both)
		at, ok := deadline.Deadline()
		require.True(w, ok)
		require.Equal(w, d, at.Sub(started))
		quit(errMine)
		<-user.Done()
		require.Equal(w, errMine, context.Cause(user))

		h.End(ErrReleased)
		<-both.Done()
		after := unreleased(both)
		w.sleep(time.Second)
		for _, ctx := range []context.Context{before, deadline, alone, after, freed} {
			require.NoError(w, ctx.Err())
		}
		free()
		require.Error(w, freed.Err())
		<-deadline.Done()
		require.Equal(w, d, time.Since(started))
		require.Equal(w, context.DeadlineExceeded, deadline.Err())
		require.NoError(w, before.Err())
		stop(errMine)
		for _, ctx := range []context.Context{before, after} {
			<-ctx.Done()
			require.Equal(w, context.Canceled, ctx.Err())
			require.Equal(w, errMine, context.Cause(ctx))
		}
		require.NoError(w, alone.Err())
		over := unreleased(both)
		<-over.Done()
		require.Equal(w, errMine, context.Cause(over), "no context is left to continue with")
	})
}

func TestContextThatHasNothingToDoWithAHoldIsTakenAsItIs(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got, free := WithoutRelease(ctx)
	defer free()
	require.Equal(t, ctx, got)
}
