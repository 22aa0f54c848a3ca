package heldtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A client that lost its session in an outage takes everything again as soon as servers
// are available, although its former session, with its znodes, lives on at the servers
// for a whole timeout.
func TestLostHolderIsNotBlockedByItsFormerSession(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		if k.noSession {
			return
		}
		world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
			e := newEnv(w.T, w.Ctx, w.Client)
			take := k.setup(e)
			h := e.taken(take)
			token := h.Token()
			znode := e.znode(h) // before the client returns, and removes it
			w.Away(h.Context())
			_ = h.Release(e.ctx) // which tells of the loss
			if l, ok := h.(*locktable.Held); ok {
				_ = l.Owner().Release(e.ctx) // which holds other locks, too
			}
			back := time.Now()
			if !k.stays {
				w.Pass(4 * time.Second)
				require.True(e, e.isGone(znode) || k.kept, znode)
			}
			require.Greater(e, take().Token(), token)
			require.Less(e, time.Since(back), 5*time.Second, "the timeout of the former session is 10 s")
		})
	})
}

// The same for recipes that take the hold again by themselves.
func TestRunIsNotBlockedByItsFormerSession(t *testing.T) {
	type begin = func(context.Context) error
	member := func(mode rebalanser.Mode, instance string) func(e *env, work begin) func(context.Context) error {
		return func(e *env, work begin) func(context.Context) error {
			o := &rebalanser.Options{Mode: mode, Instance: instance}
			admin := rebalanser.Open(e.admin, groupPath, o)
			require.NoError(e, admin.Create(e.ctx))
			_, err := admin.AddResources(e.ctx, "one")
			require.NoError(e, err)
			return rebalanser.New(e.client, groupPath, rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error { return work(ctx) }), o).Run
		}
	}
	for name, prepare := range map[string]func(e *env, work begin) func(context.Context) error{
		"election.Elector": func(e *env, work begin) func(context.Context) error {
			return func(ctx context.Context) error {
				return election.New(e.client, "/election", nil).Run(ctx, func(ctx context.Context, _ *election.Leadership) error { return work(ctx) })
			}
		},
		"rebalanser.Group":              member(rebalanser.ResourceBarrier, ""),
		"rebalanser.Group, global mode": member(rebalanser.GlobalBarrier, ""),
		"rebalanser.Group, static":      member(rebalanser.ResourceBarrier, "one"),
		"dispatch.Worker and Master": func(e *env, work begin) func(context.Context) error {
			_, err := dispatch.New(e.admin, "/queue", nil).Submit(e.ctx, dispatch.Task{MaxAttempts: 100})
			require.NoError(e, err)
			e.beside(dispatch.NewMaster(e.client, "/queue", nil).Run)
			return dispatch.NewWorker(e.client, "/queue", func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) {
				return nil, work(ctx)
			}, nil).Run
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
				e := newEnv(w.T, w.Ctx, w.Client)
				began := make(chan context.Context, 100)
				defer e.beside(prepare(e, func(ctx context.Context) error {
					began <- ctx
					<-ctx.Done()
					return context.Cause(ctx)
				}))()
				w.Away(<-began)
				back := time.Now()
				again := <-began
				require.NoError(e, again.Err())
				require.Less(e, time.Since(back), 5*time.Second, "the timeout of the former session is 10 s")
			})
		})
	}
}
