package holding_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	errNotHeld = errors.New("not held")
	errBroken  = errors.New("broken")
)

func explain(_ context.Context, err error) error { return fmt.Errorf("explained: %w", err) }

func TestSecondReleaseSaysThatItIsNotHeld(t *testing.T) {
	var r holding.Release
	n := 0
	give := func(context.Context) error { n++; return nil }
	require.NoError(t, r.Once(t.Context(), errNotHeld, explain, give))
	require.ErrorIs(t, r.Once(t.Context(), errNotHeld, explain, give), errNotHeld)
	require.Equal(t, 1, n)
}

func TestEveryReleaseReportsALoss(t *testing.T) {
	var r holding.Release
	lost := fmt.Errorf("%w: gone", session.ErrLost)
	first := r.Once(t.Context(), errNotHeld, explain, func(context.Context) error { return lost })
	require.ErrorIs(t, first, session.ErrLost)
	require.ErrorContains(t, first, "explained: ")
	require.Equal(t, first, r.Once(t.Context(), errNotHeld, explain, nil))
}

func TestSecondReleaseWaitsForTheFirstWithinItsContext(t *testing.T) {
	var r holding.Release
	under, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	// Waited for below; ends when told to go on.
	go func() {
		done <- r.Once(context.Background(), errNotHeld, explain, func(context.Context) error {
			close(under)
			<-goOn
			return errBroken
		})
	}()
	<-under
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.Once(ctx, errNotHeld, explain, nil), context.Canceled)
	close(goOn)
	require.ErrorIs(t, <-done, errBroken)
	require.ErrorIs(t, r.Once(t.Context(), errNotHeld, explain, nil), errNotHeld, "an error that is no loss is not kept")
}

func TestReleaseAfterTheFirstHasEndedReportsItWhateverTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // it once was a matter of luck
		var r holding.Release
		first := r.Once(ctx, errNotHeld, explain, func(context.Context) error { return session.ErrLost })
		require.Equal(t, first, r.Once(ctx, errNotHeld, explain, nil))
	}
}

func TestRunWaitsForTheFunctionAndEndsItsContextWithTheHold(t *testing.T) {
	hold, lose := context.WithCancelCause(context.Background())
	lost := fmt.Errorf("%w: gone", session.ErrLost)
	ended := false
	err := holding.Run(t.Context(), hold, 0, errNotHeld, func(ctx context.Context) error {
		lose(lost)
		<-ctx.Done()
		ended = true
		return context.Cause(ctx)
	}, func(context.Context) error {
		require.True(t, ended)
		return lost
	})
	require.ErrorIs(t, err, session.ErrLost)
}

func TestRunReportsWhatWentWrongWithTheGivingBackAlsoAfterTheEndOfItsContext(t *testing.T) {
	fn := func(context.Context) error { return nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		give := func(ctx context.Context) error { return errors.Join(ctx.Err(), errBroken) }
		err := holding.Run(ctx, t.Context(), 0, errNotHeld, fn, give)
		require.ErrorIs(t, err, errBroken)
		require.NotErrorIs(t, err, context.Canceled, "giving back goes on after the end of the context")
		cancel()
	}
}

// An observer of the end may release again: the giving back is over by then.
func TestObserverOfAReleaseMayReleaseAgain(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var r holding.Release
		release := func(ctx context.Context) error {
			return r.Once(ctx, errNotHeld, explain, func(context.Context) error { return nil })
		}
		var again error
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			if _, ok := e.(observe.HoldEnded); ok {
				again = release(ctx)
			}
		})})
		s := w.Session(c)
		_, err := s.Create(w.Ctx, "/h", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		h, err := s.Hold(w.Ctx, "/h", nil)
		require.NoError(w, err)
		r.Observe(observing.BeginHold(w.Ctx, c, observe.Lock, "/h", observing.Znode{Hold: h, Czxid: 1}))
		require.NoError(w, release(w.Within(time.Minute)))
		require.ErrorIs(w, again, errNotHeld)
	})
}

func TestFailureNamesTheContextsErrorBesideItsCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	require.EqualError(t, holding.Failure(ctx, "lock", "acquire", "/a", errBroken), "lock: acquire /a: broken")
	cancel(errBroken)
	err := holding.Failure(ctx, "lock", "acquire", "/a", context.Cause(ctx))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errBroken)
}
