package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

func TestReleaseLeavesWithoutWaitingForTheOthers(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(2, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		w.Settle()
		w.ResetStats()
		require.NoError(w, seats[0].Release(w.Ctx))
		require.Equal(w, map[string]int{"delete": 1}, w.counts(clients[0]))
		require.ErrorIs(w, context.Cause(seats[0].Context()), session.ErrReleased)
		require.NoError(w, seats[1].Context().Err())
		require.ErrorIs(w, seats[0].Release(w.Ctx), barrier.ErrNotInside)
		require.ErrorIs(w, seats[0].Leave(w.Ctx), barrier.ErrNotInside)
		w.left(w.leave(w.Ctx, seats[1]))
		w.clean()
		again := w.seats(2, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		require.NoError(w, again[0].Release(w.Ctx))
		require.NoError(w, again[1].Release(w.Ctx))
		w.clean()
	})
}

// The other party gets out, and both get in again, whatever happens to the release.
func TestEnterAndReleaseUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Enter, Release", Paths: []string{dir}, Next: nextVisit, Counts: all,
		Setup: func(_ *matrix.Env, p *world.Party) error { return nextVisit(context.Background(), p) },
		Op: func(ctx context.Context, p *world.Party) error {
			life, stop := context.WithCancel(context.Background())
			defer stop()
			other := make(chan error, 1)
			// Waited for below; ends with stop.
			go func() {
				world.Pause(time.Second)
				for err := error(nil); ; {
					if err != nil {
						other <- err
						return
					}
					_, _, err = enterAndLeave(life, barrier.NewDouble(p.Other, dir, 2, nil), 0)
				}
			}()
			seat, err := barrier.NewDouble(p.Tested, dir, 2, nil).Enter(ctx)
			if err == nil {
				world.Pause(3 * time.Second)
				err = seat.Release(ctx)
			}
			world.Pause(time.Second)
			stop()
			if e := <-other; !errors.Is(e, context.Canceled) {
				return fmt.Errorf("the other: %w", e)
			}
			return err
		},
	}.Run(t)
}
