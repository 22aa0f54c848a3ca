package dispatch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

// The guard of an attempt checks its assignment in sessions of any chroot.
func TestGuardHoldsInASessionOfAnotherChroot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/app", nil))
		require.NoError(w, w.Server.Create("/data", nil))
		below := func() *session.Client { return w.ClientAt(w.Server.Addr()+"/app", session.Options{}) }
		other := w.Session(w.Client())
		q := dispatch.New(below(), path, nil)
		m := below()
		w.beside(dispatch.NewMaster(m, path, nil).Run)
		var guard session.Op
		w.beside(dispatch.NewWorker(below(), path, func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			guard = a.Guard()
			if _, _, err := a.Session().Get(w.Ctx, a.Path()); err != nil {
				return nil, err // the session is the worker's: the path is below its chroot
			}
			_, err := other.Txn(w.Ctx, guard, session.SetOp("/data", []byte("1"), -1))
			return nil, err
		}, nil).Run)
		id := w.submit(q, dispatch.Task{MaxAttempts: 1})
		require.Equal(w, "", w.collect(q, id).Error, "the task is held")
		_, err := other.Txn(w.Ctx, guard, session.SetOp("/data", []byte("2"), -1))
		require.ErrorIs(w, err, session.ErrNoNode, "the task is not held")
	})
}
