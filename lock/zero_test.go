package lock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	_, permitsAt := lock.PermitsAt(t.Context(), nil, "/s")
	world.Misuse{
		Invalid: lock.ErrInvalidArgument,
		Zero: map[string]any{
			"Group": new(lock.Group), "Held": new(lock.Held), "HeldGroup": new(lock.HeldGroup), "Mutex": new(lock.Mutex),
			"PermitPlace": new(lock.PermitPlace), "Permits": new(lock.Permits), "Place": new(lock.Place), "Semaphore": new(lock.Semaphore),
		},
		NoClient: map[string]any{
			"New": lock.New(nil, "/l", nil), "NewSemaphore": lock.NewSemaphore(nil, "/s", 1, nil), "PermitsAt": permitsAt,
		},
	}.Check(t)
}

func TestReleaseWithANilContextReleasesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var none context.Context
		held, err := lock.New(w.Client(), "/l", nil).Lock(w.Ctx)
		require.NoError(w, err)
		err = held.Unlock(none)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		require.ErrorContains(w, err, "release /l: invalid argument: the context is nil")
		require.NoError(w, held.Context().Err())
		require.NoError(w, held.Unlock(w.Ctx))
	})
}
