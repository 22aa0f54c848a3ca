package heldtest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// call calls something with the client under test.
type call func(ctx context.Context, c *session.Client) error

// reading is a call for its error.
func reading[T any](read func(ctx context.Context, c *session.Client) (T, error)) call {
	return func(ctx context.Context, c *session.Client) error {
		_, err := read(ctx, c)
		return err
	}
}

// trying takes something at once, and releases it.
func trying[H session.Held](try func(ctx context.Context, c *session.Client) (H, error)) call {
	return func(ctx context.Context, c *session.Client) error {
		h, err := try(ctx, c)
		if err == nil {
			_ = h.Release(ctx) // which tells of a loss
		}
		return err
	}
}

// repeatable are the calls that a lost session does not keep from their answer: they read,
// or what they have taken goes with the session.
func repeatable() map[string]call {
	type client = *session.Client
	return map[string]call{
		"lock.Mutex.Contenders": reading(func(ctx context.Context, c client) ([]lock.Contender, error) {
			return lock.New(c, "/lock", nil).Contenders(ctx)
		}),
		"lock.Mutex.TryLock": trying(func(ctx context.Context, c client) (*lock.Held, error) {
			return lock.New(c, "/lock", nil).TryLock(ctx)
		}),
		"lock.PermitsAt": reading(func(ctx context.Context, c client) (int, error) { return lock.PermitsAt(ctx, c, "/semaphore") }),
		"lock.Semaphore.Contenders": reading(func(ctx context.Context, c client) ([]lock.Contender, error) {
			return lock.NewSemaphore(c, "/semaphore", 2, nil).Contenders(ctx)
		}),
		"lock.Semaphore.TryAcquire": trying(func(ctx context.Context, c client) (*lock.Permits, error) {
			return lock.NewSemaphore(c, "/semaphore", 2, nil).TryAcquire(ctx, 1)
		}),
		"locktable.Table.Entries": reading(func(ctx context.Context, c client) ([]locktable.Entry, error) {
			return locktable.New(c, "/table", nil).Entries(ctx)
		}),
		"locktable.Table.Join": func(ctx context.Context, c client) error {
			o, err := locktable.New(c, "/table", nil).Join(ctx)
			if err == nil {
				_ = o.Release(ctx) // which tells of a loss
			}
			return err
		},
		"rwlock.RWMutex.Contenders": reading(func(ctx context.Context, c client) ([]rwlock.Contender, error) {
			return rwlock.New(c, "/rwlock", nil).Contenders(ctx)
		}),
		"rwlock.RWMutex.TryLock": trying(func(ctx context.Context, c client) (*rwlock.Held, error) {
			return rwlock.New(c, "/rwlock", nil).TryLock(ctx)
		}),
		"rwlock.RWMutex.TryRLock": trying(func(ctx context.Context, c client) (*rwlock.Held, error) {
			return rwlock.New(c, "/rwlock", nil).TryRLock(ctx)
		}),
		"barrier.Barrier.Waiting": reading(func(ctx context.Context, c client) ([]barrier.Party, error) {
			return barrier.New(c, "/barrier", 2, nil).Waiting(ctx)
		}),
		"barrier.Double.Waiting": reading(func(ctx context.Context, c client) ([]barrier.Party, error) {
			return barrier.NewDouble(c, "/double", 2, nil).Waiting(ctx)
		}),
		"barrier.Gate.Closed": reading(func(ctx context.Context, c client) (bool, error) {
			return barrier.NewGate(c, "/gate", nil).Closed(ctx)
		}),
		"election.Elector.Candidates": reading(func(ctx context.Context, c client) ([]election.Candidate, error) {
			return election.New(c, "/election", nil).Candidates(ctx)
		}),
		"election.Elector.Leader": reading(func(ctx context.Context, c client) (election.Candidate, error) {
			return election.New(c, "/election", nil).Leader(ctx)
		}),
		"counter.Counter.Get": reading(func(ctx context.Context, c client) (int64, error) { return counter.New(c, "/counter", nil).Get(ctx) }),
		"counter.Shared.Get": reading(func(ctx context.Context, c client) (counter.VersionedValue, error) {
			return counter.NewShared(c, "/shared", 0, nil).Get(ctx)
		}),
		"value.Value.Get": reading(func(ctx context.Context, c client) (value.State, error) { return value.New(c, "/value", nil).Get(ctx) }),
		"discovery.Registry.Services": reading(func(ctx context.Context, c client) ([]string, error) {
			return discovery.NewRegistry(c, "/services", nil).Services(ctx)
		}),
		"discovery.Registry.Instances": reading(func(ctx context.Context, c client) ([]discovery.Instance, error) {
			return discovery.NewRegistry(c, "/services", nil).Instances(ctx, "api")
		}),
		"discovery.Registry.Instance": reading(func(ctx context.Context, c client) (discovery.Instance, error) {
			return discovery.NewRegistry(c, "/services", nil).Instance(ctx, "api", "one")
		}),
		"discovery.Group.Members": reading(func(ctx context.Context, c client) ([]discovery.Member, error) {
			return discovery.NewGroup(c, "/members", nil).Members(ctx)
		}),
		"workerctl.List": reading(func(ctx context.Context, c client) ([]workerctl.Info, error) { return workerctl.List(ctx, c, nil) }),
		"rebalanser.Admin.Status": reading(func(ctx context.Context, c client) (rebalanser.Status, error) {
			return rebalanser.Open(c, groupPath, nil).Status(ctx)
		}),
		"rebalanser.Admin.Resources": reading(func(ctx context.Context, c client) ([]string, error) {
			return rebalanser.Open(c, groupPath, nil).Resources(ctx)
		}),
		"dispatch.Queue.Stats": reading(func(ctx context.Context, c client) (dispatch.Stats, error) {
			return dispatch.New(c, "/queue", nil).Stats(ctx)
		}),
		"dispatch.Queue.List": reading(func(ctx context.Context, c client) ([]dispatch.Info, error) {
			return dispatch.New(c, "/queue", nil).List(ctx)
		}),
	}
}

// prepare makes what the calls read.
func prepare(e *env) {
	ctx, c := e.ctx, e.admin
	_, err := election.New(c, "/election", nil).Campaign(ctx)
	require.NoError(e, err)
	_, err = discovery.NewRegistry(c, "/services", nil).Register(ctx, discovery.Instance{Service: "api", ID: "one", Address: "10.0.0.1", Port: 1})
	require.NoError(e, err)
	_, err = lock.NewSemaphore(c, "/semaphore", 2, nil).Acquire(ctx, 1)
	require.NoError(e, err)
	_, err = lock.New(c, "/lock/other", nil).Lock(ctx)
	require.NoError(e, err)
	require.NoError(e, rebalanser.Open(c, groupPath, nil).Create(ctx))
	_, err = dispatch.New(c, "/queue", nil).Submit(ctx, dispatch.Task{})
	require.NoError(e, err)
}

// The servers expire the session before or after any request of a call: the call begins
// again in the client's next session.
func TestCallsBeginAgainWhenTheirSessionIsLost(t *testing.T) {
	all := repeatable()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for what, fault := range map[string]zktest.Fault{"before": zktest.ExpireBefore, "after": zktest.ExpireAfter} {
			t.Run(name+", expired "+what, func(t *testing.T) {
				n := 1
				for callWithFault(t, all[name], n, fault) {
					n++
				}
				require.Greater(t, n, 1, "a call sends a request")
			})
		}
	}
}

// callWithFault makes a call with a fault at the n-th request of the client, and reports
// whether there was such a request.
func callWithFault(t *testing.T, do call, n int, fault zktest.Fault) (hit bool) {
	inWorld(t, func(w *world.World, e *env) {
		prepare(e)
		s := e.session(e.client)
		w.Settle()
		w.Server.FailNth(func(r zktest.Request) bool { return r.Session == s.ID() && r.Op != "ping" }, n, zktest.Action{Do: fault})
		require.NoError(e, do(w.Ctx, e.client))
		w.Settle()
		hit = s.Err() != nil
	})
	return hit
}
