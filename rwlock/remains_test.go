package rwlock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// A reader that does not go keeps the next writer out.
func TestLostHolderDoesNotBlockItself(t *testing.T) {
	for name, first := range map[string]func(*rwlock.RWMutex) take{
		"reader": func(m *rwlock.RWMutex) take { return m.RLock },
		"writer": func(m *rwlock.RWMutex) take { return m.Lock },
	} {
		t.Run(name, func(t *testing.T) {
			next := first
			world.LostHolderDoesNotBlockItself(t, func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
				h, err := next(rwlock.New(c, dir, nil))(ctx)
				if err != nil {
					return world.ExclusiveHold{}, err
				}
				next = func(m *rwlock.RWMutex) take { return m.Lock }
				return world.ExclusiveHold{Held: h.Context(), GiveBack: h.Unlock}, nil
			})
		})
	}
}
