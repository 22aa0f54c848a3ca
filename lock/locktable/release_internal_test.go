package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// A call that waits for more locks ends with its owner, and may release its locks just
// before the owner does: this is no error of the owner's release.
func TestReleaseOfTheOwnerToleratesThatOfACall(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		o, err := New(w.Client(), "/table", nil).Join(w.Ctx)
		require.NoError(w, err)
		held, err := o.TryLock(w.Ctx, "a", "b")
		require.NoError(w, err)
		require.NoError(w, o.Unlock(w.Ctx, held[0]))
		require.ErrorIs(w, o.unlockHeld(w.Ctx, held[:1], false), ErrNotHeld)
		require.NoError(w, o.unlockHeld(w.Ctx, held, true))
		require.Error(w, held[1].Context().Err())
		require.NoError(w, o.Release(w.Ctx))
	})
}
