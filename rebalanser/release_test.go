package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// A released resource is not worked on and has no other owner, until the group
// moves the resource like any other.
func TestReleasedResourceHasNoOtherOwnerUntilTheGroupMovesIt(t *testing.T) {
	inBoth(t, func(w *World) {
		require.NoError(w, w.Server.Create("/data", nil))
		c := w.Client()
		a := rebalanser.Open(c, path, &rebalanser.Options{Mode: w.mode})
		require.NoError(w, a.Create(w.Ctx))
		_, err := a.AddResources(w.Ctx, "r")
		require.NoError(w, err)
		type owned struct {
			r    *rebalanser.Resource
			over chan error // the cause of the end of the function's context
		}
		owners := make(chan owned, 2)
		join := func(c *session.Client) (leave func()) {
			g := rebalanser.New(c, path, rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
				o := owned{r, make(chan error, 1)}
				owners <- o
				<-ctx.Done()
				o.over <- context.Cause(ctx)
				return ctx.Err()
			}), &rebalanser.Options{Mode: w.mode})
			ctx, end := context.WithCancel(w.Ctx)
			left := make(chan error, 1)
			// Waited for by leave; ends with ctx.
			go func() { left <- g.Run(ctx) }()
			return func() {
				end()
				require.NoError(w, <-left)
			}
		}
		write := func(r *rebalanser.Resource) error {
			_, err := w.Session(c).Txn(w.Ctx, r.Guard(), session.SetOp("/data", nil, -1))
			return err
		}
		leave := join(w.Client())
		first := <-owners
		require.NoError(w, write(first.r))
		w.Settle() // the coordinator may still report
		w.ResetStats()
		require.NoError(w, first.r.Release(w.Ctx))
		require.ErrorIs(w, <-first.over, session.ErrReleased)
		require.ErrorIs(w, write(first.r), session.ErrNoNode)
		require.ErrorIs(w, first.r.Release(w.Ctx), session.ErrReleased)
		require.Zero(w, w.Server.Stats().Requests["multi"])

		leaveToo := join(w.Client())
		w.Pass(time.Minute)
		require.Empty(w, owners, "the first member owns the resource")
		leave()
		second := <-owners
		require.Greater(w, second.r.Token(), first.r.Token())
		require.NoError(w, write(second.r))
		require.ErrorIs(w, first.r.Release(w.Ctx), session.ErrReleased)
		leaveToo()
		require.ErrorIs(w, second.r.Release(w.Ctx), rebalanser.ErrRevoked)
		require.ErrorIs(w, write(second.r), session.ErrNoNode)
	})
}
