package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An invalid path must not cost the session: its heartbeats would never be
// sent.
func TestAHoldOfNoPathIsRefused(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/p", "")
		_, err := w.s.Create(w.ctx, "/p/mine", nil, Ephemeral, nil) // a proof
		require.NoError(w, err)
		for _, path := range []string{"p/mine", "", "/p/"} {
			_, err := w.s.Hold(w.ctx, path, nil)
			require.ErrorIs(w, err, ErrInvalidPath, "%q", path)
			require.ErrorIs(w, w.s.VerifyLive(w.ctx, path), ErrInvalidPath, "%q", path)
		}
		w.sleep(time.Minute)
		require.NoError(w, w.s.Err())
	})
}

// A guard checks its znode in sessions of any chroot: the check passes while
// the znode exists, and does not mistake another znode for it.
func TestAGuardHoldsInASessionOfAnotherChroot(t *testing.T) {
	for _, other := range []bool{false, true} {
		inWorld(t, nil, nil, func(w *world) {
			w.createNode("/app", "")
			w.createNode("/data", "")
			c, err := Connect(w.ctx, w.srv.Addr()+"/app", &Options{Dialer: w.srv.Client("")})
			require.NoError(w, err)
			defer w.close(c)
			s := w.session(c)
			_, err = s.Create(w.ctx, "/mine", nil, Ephemeral, nil)
			require.NoError(w, err)
			h, err := s.Hold(w.ctx, "/mine", nil)
			require.NoError(w, err)
			require.Equal(w, "/mine", h.Guard().Path())
			if other {
				w.createNode("/mine", "another's")
			}
			_, err = w.s.Txn(w.ctx, h.Guard(), SetOp("/data", []byte("1"), -1))
			require.NoError(w, err, "the znode is held")
			require.NoError(w, s.EnsureDeleted(w.ctx, "/mine"))
			_, err = w.s.Txn(w.ctx, h.Guard(), SetOp("/data", []byte("2"), -1))
			require.ErrorIs(w, err, ErrNoNode, "the znode is not held")
		})
	}
}
