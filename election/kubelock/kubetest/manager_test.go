package kubetest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// controller is a process with a manager.
type controller struct {
	*lock
	client *session.Client
	stop   context.CancelFunc
	out    chan error
	warm   chan struct{}        // closed when what needs no leadership runs
	began  chan context.Context // the context of what does
	ended  chan time.Time
}

// standby is a runnable for all replicas.
type standby struct{ runs chan struct{} }

func (standby) NeedLeaderElection() bool { return false }

func (s standby) Start(ctx context.Context) error {
	close(s.runs)
	<-ctx.Done()
	return nil
}

// newManager makes a manager without an API server.
func newManager(t *testing.T, l *lock) manager.Manager {
	t.Helper()
	lease, renew, retry, shutdown := 15*time.Second, 10*time.Second, 100*time.Millisecond, time.Duration(-1)
	m, err := manager.New(&rest.Config{}, manager.Options{
		LeaderElection: true, LeaderElectionResourceLockInterface: l, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry, GracefulShutdownTimeout: &shutdown,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return &informertest.FakeInformers{}, nil },
	})
	require.NoError(t, err)
	return m
}

func run(t *testing.T, zookeeper *zktest.Server, id string) *controller {
	t.Helper()
	c := &controller{out: make(chan error, 1), warm: make(chan struct{}), began: make(chan context.Context, 1), ended: make(chan time.Time, 1)}
	var err error
	c.client, err = session.Connect(t.Context(), zookeeper.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.client.Close(context.Background())) })
	c.lock = kubelock.New[resourcelock.LeaderElectionRecord](c.client, dir, id, nil)
	m := newManager(t, c.lock)
	require.NoError(t, m.Add(standby{c.warm}))
	require.NoError(t, m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		c.began <- ctx
		<-ctx.Done()
		c.ended <- time.Now()
		return nil
	})))
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	// Waited for by the tests through out; ends with ctx, or the leadership.
	go func() { c.out <- c.Run(ctx, m.Start) }()
	return c
}

func TestManagersLeadOneAfterAnother(t *testing.T) {
	zookeeper, err := zktest.Start(nil)
	require.NoError(t, err)
	defer zookeeper.Close()
	a := run(t, zookeeper, "a")
	<-a.began
	b, c := run(t, zookeeper, "b"), run(t, zookeeper, "c")
	<-b.warm
	<-c.warm
	require.Empty(t, b.began)
	a.stop()
	require.NoError(t, <-a.out)
	ended := <-a.ended
	var next, last *controller
	select {
	case <-b.began:
		next, last = b, c
	case <-c.began:
		next, last = c, b
	}
	require.False(t, ended.After(time.Now()))
	// The session of the next one is lost.
	lead := next.Held()
	s, err := next.client.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, zookeeper.ExpireSession(s.ID()))
	<-last.began
	led := time.Now()
	require.False(t, (<-next.ended).After(led))
	require.ErrorIs(t, context.Cause(lead.Context()), session.ErrLost)
	require.ErrorIs(t, <-next.out, session.ErrLost)
	last.stop()
	require.NoError(t, <-last.out)
}
