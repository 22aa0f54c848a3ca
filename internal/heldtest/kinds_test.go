package heldtest

import (
	"context"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// groupPath is the path of the rebalancer.
const groupPath = "/rebalancer"

// kind is one kind of hold, and the behavior that its package documents.
type kind struct {
	// setup prepares the kind, and returns how the client under test takes it: also
	// again, after a release or a loss.
	setup func(e *env) (take func() session.Held)
	// again is the error of a second Release; nil if that succeeds again.
	again error
	// stays: the znode exists after the release, and stands for nothing.
	stays bool
	// kept: the package takes it again by itself after a loss, and Release says nothing
	// of the loss.
	kept bool
	// revocable: the group may notice the deletion of the client's znode first, and revoke
	// the resource.
	revocable bool
	// noSession: it goes with no session.
	noSession bool
}

// taking is the setup of a kind that is taken by one call.
func taking[H session.Held](call func(e *env) func(context.Context) (H, error)) func(e *env) func() session.Held {
	return func(e *env) func() session.Held {
		take := call(e)
		return func() session.Held {
			h, err := take(e.ctx)
			require.NoError(e, err)
			return h
		}
	}
}

func locks() map[string]kind {
	semaphore := func(permits int, o *lock.Options) kind {
		return kind{again: lock.ErrNotHeld, setup: taking(func(e *env) func(context.Context) (*lock.Permits, error) {
			s := lock.NewSemaphore(e.client, "/semaphore", 3, o)
			return func(ctx context.Context) (*lock.Permits, error) { return s.Acquire(ctx, permits) }
		})}
	}
	return map[string]kind{
		"lock.Held": {again: lock.ErrNotHeld, setup: taking(func(e *env) func(context.Context) (*lock.Held, error) {
			return lock.New(e.client, "/lock", nil).Lock
		})},
		"lock.HeldGroup": {again: lock.ErrNotHeld, setup: taking(func(e *env) func(context.Context) (*lock.HeldGroup, error) {
			return lock.All(lock.New(e.client, "/b", nil), lock.New(e.client, "/a", nil), lock.New(e.client, "/c", nil)).Lock
		})},
		"lock.Permits":                 semaphore(2, nil),
		"lock.Permits, Curator's form": semaphore(2, &lock.Options{CuratorV2: true}),
		"locktable.Held": {again: locktable.ErrNotHeld, stays: true, setup: func(e *env) func() session.Held {
			table := locktable.New(e.client, "/table", nil)
			return func() session.Held {
				owner, err := table.Join(e.ctx)
				require.NoError(e, err)
				e.Cleanup(func() { _ = owner.Release(e.ctx) })
				held, err := owner.Lock(e.ctx, "one")
				require.NoError(e, err)
				return held[0]
			}
		}},
		"rwlock.Held, reading": {again: rwlock.ErrNotHeld, setup: taking(func(e *env) func(context.Context) (*rwlock.Held, error) {
			return rwlock.New(e.client, "/rwlock", nil).RLock
		})},
		"rwlock.Held, writing": {again: rwlock.ErrNotHeld, setup: taking(func(e *env) func(context.Context) (*rwlock.Held, error) {
			return rwlock.New(e.client, "/rwlock", nil).Lock
		})},
	}
}

func places() map[string]kind {
	registration := func(typ discovery.Type) kind {
		return kind{kept: true, noSession: typ == discovery.Static, setup: taking(func(e *env) func(context.Context) (*discovery.Registration, error) {
			r := discovery.NewRegistry(e.client, "/services", nil)
			return func(ctx context.Context) (*discovery.Registration, error) {
				return r.Register(ctx, discovery.Instance{Service: "web", ID: "one", Type: typ})
			}
		})}
	}
	membership := func(layout discovery.Layout) kind {
		return kind{kept: true, setup: taking(func(e *env) func(context.Context) (*discovery.Membership, error) {
			g := discovery.NewGroup(e.client, "/members", &discovery.Options{Layout: layout})
			return func(ctx context.Context) (*discovery.Membership, error) { return g.Join(ctx, "one", nil) }
		})}
	}
	// Without TTL znodes: these stay after a Release, and the next keeper takes the same
	// znode over, with its token.
	keptNode := func(mode session.Mode) kind {
		return kind{kept: true, noSession: mode != session.Ephemeral && mode != session.EphemeralSequential, setup: taking(func(e *env) func(context.Context) (*node.Kept, error) {
			n := node.New(e.client, "/nodes/one", mode, nil)
			return func(ctx context.Context) (*node.Kept, error) { return n.Keep(ctx, nil) }
		})}
	}
	return map[string]kind{
		"barrier.Seat": {again: barrier.ErrNotInside, setup: taking(func(e *env) func(context.Context) (*barrier.Seat, error) {
			return barrier.NewDouble(e.client, "/barrier", 1, nil).Enter
		})},
		"node.Kept, ephemeral":                  keptNode(session.Ephemeral),
		"node.Kept, ephemeral and sequential":   keptNode(session.EphemeralSequential),
		"node.Kept, of no session":              keptNode(session.Persistent),
		"node.Kept, numbered, of no session":    keptNode(session.PersistentSequential),
		"node.Kept, container":                  keptNode(session.Container),
		"discovery.Membership":                  membership(discovery.Curator),
		"discovery.Membership, Kazoo's form":    membership(discovery.Kazoo),
		"discovery.Registration":                registration(discovery.Dynamic),
		"discovery.Registration, sequential":    registration(discovery.DynamicSequential),
		"discovery.Registration, of no session": registration(discovery.Static),
		"election.Leadership": {again: election.ErrNotLeader, setup: taking(func(e *env) func(context.Context) (*election.Leadership, error) {
			return election.New(e.client, "/election", nil).Campaign
		})},
	}
}

func assignments() map[string]kind {
	return map[string]kind{
		"dispatch.Attempt":                 {setup: attempts},
		"rebalanser.Resource":              {again: session.ErrReleased, stays: true, revocable: true, setup: resources(rebalanser.ResourceBarrier)},
		"rebalanser.Resource, global mode": {again: session.ErrReleased, stays: true, revocable: true, setup: resources(rebalanser.GlobalBarrier)},
		"workerctl.Worker": {setup: taking(func(e *env) func(context.Context) (*workerctl.Worker, error) {
			job, err := workerctl.Submit(e.ctx, e.admin, workerctl.Spec{Name: "job", Workers: 1}, nil)
			require.NoError(e, err)
			job, err = workerctl.Attach(e.ctx, e.client, job.Name(), nil)
			require.NoError(e, err)
			return func(ctx context.Context) (*workerctl.Worker, error) {
				return job.Join(ctx, workerctl.Identity{Name: "one"})
			}
		})},
	}
}

// attempts takes attempts of one task, which is never done.
func attempts(e *env) func() session.Held {
	given := make(chan session.Held, 100)
	e.beside(dispatch.NewMaster(e.connect(), "/queue", nil).Run)
	e.beside(dispatch.NewWorker(e.client, "/queue", func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		given <- a
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil).Run)
	_, err := dispatch.New(e.admin, "/queue", nil).Submit(e.ctx, dispatch.Task{MaxAttempts: 100})
	require.NoError(e, err)
	return func() session.Held { return <-given }
}

// resources takes the one resource of a group, each time by another membership.
func resources(mode rebalanser.Mode) func(e *env) func() session.Held {
	return func(e *env) func() session.Held {
		o := &rebalanser.Options{Mode: mode}
		admin := rebalanser.Open(e.admin, groupPath, o)
		require.NoError(e, admin.Create(e.ctx))
		_, err := admin.AddResources(e.ctx, "one")
		require.NoError(e, err)
		leave := func() {}
		return func() session.Held {
			leave()
			given := make(chan session.Held, 100)
			leave = e.beside(rebalanser.New(e.client, groupPath, rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
				given <- r
				<-ctx.Done()
				return ctx.Err()
			}), o).Run)
			return <-given
		}
	}
}
