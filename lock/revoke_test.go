package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
)

func TestRevokeRefusesWhatIsNoContender(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		w.ResetStats()
		for _, path := range []string{"", dir, dir + "/", "/locks/b/x", dir + "/x/y", dir + ".waiting/x"} {
			require.ErrorIs(w, m.Revoke(w.Ctx, lock.Contender{Path: path}), lock.ErrInvalidArgument, path)
		}
		require.Zero(w, w.Requests(c))
		require.ErrorIs(w, (*lock.Mutex)(nil).Revoke(w.Ctx, lock.Contender{}), lock.ErrInvalidArgument)
		require.ErrorIs(w, (*lock.Held)(nil).AwaitRevocation(w.Ctx), lock.ErrInvalidArgument)
		require.ErrorIs(w, m.Revoke(w.Ctx, lock.Contender{Path: dir + "/x"}), lock.ErrNotHeld)
	})
}
