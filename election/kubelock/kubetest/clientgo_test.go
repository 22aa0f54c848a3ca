package kubetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const dir = "/election/controller"

type lock = kubelock.Lock[resourcelock.LeaderElectionRecord]

var _ resourcelock.Interface = (*lock)(nil)

// replica is a process with client-go's elector.
type replica struct {
	*lock
	client *session.Client
	stop   context.CancelFunc
	out    chan error
	began  chan context.Context // the context of the work
	ended  chan time.Time

	// mu guards leaders: those of which client-go has told.
	mu      sync.Mutex
	leaders []string
}

func start(w *world.World, id string) *replica {
	r := &replica{client: w.Client(), out: make(chan error, 1), began: make(chan context.Context, 10), ended: make(chan time.Time, 10)}
	r.lock = kubelock.New[resourcelock.LeaderElectionRecord](r.client, dir, id, nil)
	ctx, stop := context.WithCancel(w.Ctx)
	r.stop = stop
	// The bubble waits for it; it ends with ctx, or the leadership.
	go func() { r.out <- r.Run(ctx, r.elect) }()
	w.Settle()
	return r
}

// elect runs client-go's elector, and waits for its work.
func (r *replica) elect(ctx context.Context) error {
	var works sync.WaitGroup
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: r.lock, Name: "controller", ReleaseOnCancel: true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				works.Add(1)
				defer works.Done()
				r.began <- ctx
				<-ctx.Done()
				r.ended <- time.Now()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(id string) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.leaders = append(r.leaders, id)
			},
		},
	})
	works.Wait()
	return ctx.Err()
}

func (r *replica) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.leaders...)
}

func TestClientGoLeadsOneAfterAnother(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		a, b := start(w, "a"), start(w, "b")
		<-a.began
		w.Pass(5 * time.Minute)
		require.Empty(w, b.began)
		require.Equal(w, []string{"a"}, b.seen())
		stopped := time.Now()
		a.stop()
		require.NoError(w, <-a.out)
		<-b.began
		require.False(w, (<-a.ended).After(time.Now()))
		require.Less(w, time.Since(stopped), 5*time.Second, "no lease has to run out")
		record, _, err := a.Get(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "b", record.HolderIdentity)
		require.Equal(w, 2, record.LeaderTransitions)
		require.Equal(w, 15, record.LeaseDurationSeconds)
		require.WithinDuration(w, time.Now(), record.RenewTime.Time, 5*time.Second)
		b.stop()
		require.NoError(w, <-b.out)
		require.Empty(w, w.Children(dir))
	})
}

func TestWorkOfClientGoEndsBeforeAnotherLeads(t *testing.T) {
	for name, lose := range map[string]func(w *world.World, a *replica){
		"expired":    func(w *world.World, a *replica) { w.Expire(a.client) },
		"black hole": func(w *world.World, _ *replica) { w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				a, b := start(w, "a"), start(w, "b")
				ctx := <-a.began
				lose(w, a)
				<-b.began
				led := time.Now()
				require.False(w, (<-a.ended).After(led))
				require.ErrorIs(w, context.Cause(ctx), session.ErrLost)
				require.ErrorIs(w, <-a.out, session.ErrLost)
				w.Server.Heal()
				b.stop()
				require.NoError(w, <-b.out)
			})
		})
	}
}
