package value_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
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
