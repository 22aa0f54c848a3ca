package value_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
)

func TestEventsUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Set, Update, TrySet", Counts: everything,
		Op: func(ctx context.Context, p *world.Party) error {
			v := value.New(p.Tested, path, nil)
			err := v.Set(ctx, []byte("a"))
			if err == nil {
				_, err = v.Update(ctx, adds("b"))
			}
			if err == nil {
				_, err = v.TrySet(ctx, value.State{}, []byte("c"))
			}
			world.Pause(time.Minute) // for the batches whose callers have left
			if errors.Is(err, session.ErrUnknownOutcome) {
				return nil
			}
			return err
		},
	}.RunObserved(t, *update, "value")
}

// A function that chooses to write nothing is no failure; a value that is too long is one.
func TestBatchesThatFunctionsDeclineAreNoFailures(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c, events := w.ClientObserved(func(e observe.Event) bool { _, ok := e.(observe.BatchWritten); return ok })
		v := value.New(c, path, nil)
		errEmpty := errors.New("the account is empty")
		_, err := v.Update(w.Ctx, func([]byte) ([]byte, error) { return nil, errEmpty })
		require.ErrorIs(w, err, errEmpty)
		declined := (<-events).(observe.BatchWritten)
		require.ErrorIs(w, declined.Err, errEmpty)
		require.True(w, declined.Declined)
		require.ErrorIs(w, v.Set(w.Ctx, make([]byte, 2<<20)), session.ErrTooLarge)
		failed := (<-events).(observe.BatchWritten)
		require.ErrorIs(w, failed.Err, session.ErrTooLarge)
		require.False(w, failed.Declined)
	})
}
