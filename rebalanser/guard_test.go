package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// The guard of a resource checks its owner in sessions of any chroot.
func TestGuardHoldsInASessionOfAnotherChroot(t *testing.T) {
	inBoth(t, func(w *World) {
		require.NoError(w, w.Server.Create("/app", nil))
		require.NoError(w, w.Server.Create("/data", nil))
		c := w.ClientAt(w.Server.Addr()+"/app", session.Options{})
		a := rebalanser.Open(c, path, &rebalanser.Options{Mode: w.mode})
		require.NoError(w, a.Create(w.Ctx))
		_, err := a.AddResources(w.Ctx, "r")
		require.NoError(w, err)
		owned := make(chan *rebalanser.Resource, 1)
		g := rebalanser.New(c, path, rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
			owned <- r
			<-ctx.Done()
			return nil
		}), &rebalanser.Options{Mode: w.mode})
		ctx, leave := context.WithCancel(w.Ctx)
		left := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { left <- g.Run(ctx) }()
		r, other := <-owned, w.Session(w.Client())
		_, err = other.Txn(w.Ctx, r.Guard(), session.SetOp("/data", []byte("1"), -1))
		require.NoError(w, err, "the resource is owned")
		leave()
		require.NoError(w, <-left)
		w.Pass(time.Second)
		_, err = other.Txn(w.Ctx, r.Guard(), session.SetOp("/data", []byte("2"), -1))
		require.ErrorIs(w, err, session.ErrNoNode, "the resource is not owned")
	})
}
