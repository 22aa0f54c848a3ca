package gocronlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/gocronlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// process is a leader with a scheduler.
type process struct {
	*serving.Leader
	client  *session.Client
	elector *gocronlock.Elector
	stop    context.CancelFunc
	out     chan error
}

func start(w *world.World, id string) *process {
	p := &process{client: w.Client(), out: make(chan error, 1)}
	p.Leader = serving.New(election.New(p.client, "/cron/leader", &election.Options{ID: id}), nil)
	p.elector = gocronlock.NewElector(p.Leader)
	ctx, stop := context.WithCancel(w.Ctx)
	p.stop = stop
	// The bubble waits for it; it ends with ctx.
	go func() { p.out <- p.Run(ctx) }()
	w.Settle()
	return p
}

// The leader runs the jobs; the other one does when the run in progress has ended.
func TestOnlyTheLeaderRunsJobs(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		a, b := start(w, "a"), start(w, "b")
		require.NoError(w, a.elector.IsLeader(w.Ctx))
		require.ErrorIs(w, b.elector.IsLeader(w.Ctx), serving.ErrNotLeading)
		type run struct {
			id       string
			from, to time.Time
		}
		var mu sync.Mutex // guards runs
		var runs []run
		for _, p := range []*process{a, b} {
			every(w, scheduler(w, gocron.WithDistributedElector(p.elector)), "job", p.elector.Task(func(ctx context.Context) error {
				lead, ok := serving.FromContext(ctx)
				assert.True(w, ok)
				r := run{id: lead.ID(), from: time.Now()}
				world.Pause(900 * time.Millisecond)
				r.to = time.Now()
				mu.Lock()
				defer mu.Unlock()
				runs = append(runs, r)
				return nil
			}))
		}
		w.Pass(3500 * time.Millisecond)
		a.stop() // in the middle of a run
		w.Pass(3 * time.Second)
		require.NoError(w, <-a.out)
		require.ErrorIs(w, a.elector.IsLeader(w.Ctx), serving.ErrNotLeading)
		require.NoError(w, b.elector.IsLeader(w.Ctx))
		b.stop()
		require.NoError(w, <-b.out)
		w.Settle()
		require.Equal(w, "a", runs[0].id)
		require.Equal(w, "b", runs[len(runs)-1].id)
		for i := 1; i < len(runs); i++ {
			require.False(w, runs[i].from.Before(runs[i-1].to), "%v", runs)
		}
	})
}

func TestRunIsToldThatTheLeadershipIsLost(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		a := start(w, "a")
		failed := make(chan error, 100)
		s := scheduler(w, gocron.WithDistributedElector(a.elector))
		every(w, s, "job", a.elector.Task(func(ctx context.Context) error {
			<-ctx.Done()
			return errWork
		}), gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		w.Pass(1500 * time.Millisecond)
		w.Expire(a.client)
		err := <-failed
		require.ErrorIs(w, err, errWork)
		require.ErrorIs(w, err, session.ErrLost)
		require.NoError(w, s.Shutdown())
		a.stop()
		require.NoError(w, <-a.out)
	})
}

func TestElectorWithoutALeaderIsAnInvalidArgument(t *testing.T) {
	var none *gocronlock.Elector
	for _, e := range []*gocronlock.Elector{none, {}, gocronlock.NewElector(nil)} {
		err := e.IsLeader(t.Context())
		require.ErrorIs(t, err, session.ErrInvalidArgument)
		require.ErrorContains(t, err, "gocronlock.NewElector")
	}
	world.In(t, nil, func(w *world.World) { // and the task of one that does not lead
		e := gocronlock.NewElector(serving.New(election.New(w.Client(), "/e", nil), nil))
		failed := make(chan error, 100)
		every(w, scheduler(w), "job", e.Task(func(context.Context) error { w.Error("it ran"); return nil }),
			gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		require.ErrorIs(w, <-failed, serving.ErrNotLeading)
	})
}
