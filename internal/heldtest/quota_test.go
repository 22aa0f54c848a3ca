package heldtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// creations are calls of which each must create a znode.
func creations() map[string]func(context.Context, *session.Client) error {
	return map[string]func(context.Context, *session.Client) error{
		"lock": func(ctx context.Context, c *session.Client) error {
			_, err := lock.New(c, "/lock", nil).Lock(ctx)
			return err
		},
		"lock without waiting": func(ctx context.Context, c *session.Client) error {
			_, err := lock.New(c, "/lock", nil).TryLock(ctx)
			return err
		},
		"semaphore": func(ctx context.Context, c *session.Client) error {
			_, err := lock.NewSemaphore(c, "/semaphore", 3, nil).Acquire(ctx, 2)
			return err
		},
		"lock table": func(ctx context.Context, c *session.Client) error {
			_, err := locktable.New(c, "/table", nil).Join(ctx)
			return err
		},
		"read lock": func(ctx context.Context, c *session.Client) error {
			_, err := rwlock.New(c, "/rwlock", nil).RLock(ctx)
			return err
		},
		"write lock": func(ctx context.Context, c *session.Client) error {
			_, err := rwlock.New(c, "/rwlock", nil).Lock(ctx)
			return err
		},
		"barrier": func(ctx context.Context, c *session.Client) error {
			_, err := barrier.NewDouble(c, "/barrier", 1, nil).Enter(ctx)
			return err
		},
		"election": func(ctx context.Context, c *session.Client) error {
			_, err := election.New(c, "/election", nil).Campaign(ctx)
			return err
		},
		"counter": func(ctx context.Context, c *session.Client) error {
			_, err := counter.New(c, "/counter", nil).Increment(ctx)
			return err
		},
		"value": func(ctx context.Context, c *session.Client) error {
			return value.New(c, "/value", nil).Set(ctx, []byte("x"))
		},
		"service": func(ctx context.Context, c *session.Client) error {
			_, err := discovery.NewRegistry(c, "/services", nil).Register(ctx, discovery.Instance{Service: "web", ID: "one"})
			return err
		},
		"member": func(ctx context.Context, c *session.Client) error {
			_, err := discovery.NewGroup(c, "/members", nil).Join(ctx, "one", nil)
			return err
		},
		"kept znode": func(ctx context.Context, c *session.Client) error {
			_, err := node.New(c, "/nodes/one", session.PersistentSequential, nil).Keep(ctx, nil)
			return err
		},
		"transaction": func(ctx context.Context, c *session.Client) error {
			return stm.New(c, "/transactions", nil).Apply(ctx, func(tx *stm.Tx) error {
				return tx.Put("/transactions/one", []byte("x"))
			})
		},
		"job": func(ctx context.Context, c *session.Client) error {
			_, err := workerctl.Submit(ctx, c, workerctl.Spec{Name: "job", Workers: 1}, nil)
			return err
		},
		"task": func(ctx context.Context, c *session.Client) error {
			_, err := dispatch.New(c, "/queue", nil).Submit(ctx, dispatch.Task{})
			return err
		},
		"rebalancer": func(ctx context.Context, c *session.Client) error {
			return rebalanser.Open(c, groupPath, nil).Create(ctx)
		},
		"znode": func(ctx context.Context, c *session.Client) error {
			s, err := c.Session(ctx)
			if err != nil {
				return err
			}
			return s.EnsurePath(ctx, "/one", session.Persistent, nil)
		},
	}
}

// requestCounter counts requests.
type requestCounter struct{ n atomic.Int64 }

func (*requestCounter) Observe(context.Context, observe.Event) {}

func (c *requestCounter) ObserveRequest(context.Context, observe.Request) { c.n.Add(1) }

// inExhaustedQuota calls every creation below a path with room for no other znode: each
// must say why it fails, at once, without asking again and again.
func inExhaustedQuota(t *testing.T, servers string) {
	const enough = 12 // requests
	for name, create := range creations() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			path := "/quota-" + session.NewID()
			s, err := world.Connect(t, servers, session.Options{}).Session(ctx)
			require.NoError(t, err)
			require.NoError(t, s.EnsurePath(ctx, path, session.Persistent, nil))
			require.NoError(t, s.EnsurePath(ctx, "/zookeeper/quota"+path, session.Persistent, nil))
			for node, data := range map[string]string{"zookeeper_limits": "count=-1,bytes=-1;countHardLimit=1", "zookeeper_stats": "count=1,bytes=0"} {
				_, err = s.Create(ctx, "/zookeeper/quota"+path+"/"+node, []byte(data), session.Persistent, nil)
				require.NoError(t, err)
			}
			var requests requestCounter
			client := world.Connect(t, servers+path, session.Options{Observer: &requests})
			err = create(ctx, client)
			require.ErrorIs(t, err, session.ErrQuotaExceeded)
			assert.False(t, errors.Is(err, session.ErrUnknownOutcome))
			assert.LessOrEqual(t, requests.n.Load(), int64(enough))
			names, _, err := s.Children(ctx, path)
			require.NoError(t, err)
			assert.Empty(t, names, "nothing is left behind")
		})
	}
}

func TestExhaustedQuotaIsSaidAtOnce(t *testing.T) {
	srv, err := zktest.Start(&zktest.Options{EnforceQuota: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	inExhaustedQuota(t, srv.Addr())
}

func TestExhaustedQuotaIsSaidAtOnceOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Own: true, Properties: map[string]string{"zookeeper.enforceQuota": "true"}})
	inExhaustedQuota(t, cluster.Connect())
}
