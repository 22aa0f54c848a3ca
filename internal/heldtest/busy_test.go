package heldtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// connector makes a client below a chroot.
type connector func(chroot string) *session.Client

// activities are steps that are repeated, each by a goroutine of its own.
type activities struct {
	ctx    context.Context
	end    context.CancelFunc
	t      *testing.T
	counts map[string]*atomic.Int64
	all    sync.WaitGroup
}

func newActivities(ctx context.Context, t *testing.T) *activities {
	a := &activities{t: t, counts: map[string]*atomic.Int64{}}
	a.ctx, a.end = context.WithCancel(ctx)
	t.Cleanup(a.stop)
	return a
}

func (a *activities) stop() { a.end(); a.all.Wait() }

func (a *activities) repeat(name string, steps ...func(ctx context.Context) error) {
	a.counts[name] = &atomic.Int64{}
	for _, step := range steps {
		// Waited for by stop, which ends it.
		a.all.Go(func() {
			for a.ctx.Err() == nil {
				if err := step(a.ctx); err != nil && a.ctx.Err() == nil {
					a.t.Error(err)
					return
				}
				a.counts[name].Add(1)
			}
		})
	}
}

// awaitMore waits until each activity has taken ten more steps.
func (a *activities) awaitMore() {
	a.t.Helper()
	for name, count := range a.counts {
		before := count.Load()
		require.Eventually(a.t, func() bool { return count.Load() >= before+10 }, time.Minute, 10*time.Millisecond, name)
	}
}

// String has the number of steps of each activity.
func (a *activities) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.counts)) {
		out = append(out, fmt.Sprintf("%d %s", a.counts[name].Load(), name))
	}
	return strings.Join(out, ", ")
}

// takeTurns lets three clients take a lock in turns.
func (a *activities) takeTurns(connect connector) {
	var holders atomic.Int32
	var steps []func(ctx context.Context) error
	for range 3 {
		l := lock.New(connect(""), "/turns", nil)
		steps = append(steps, func(ctx context.Context) error {
			held, err := l.Lock(ctx)
			if err != nil {
				return err
			}
			if holders.Add(1) != 1 {
				return errors.New("two hold the lock")
			}
			holders.Add(-1)
			return held.Unlock(context.WithoutCancel(ctx))
		})
	}
	a.repeat("turns", steps...)
}

// doTasks lets a master and a worker of a queue do one task after the other.
func (a *activities) doTasks(connect connector) {
	e := newEnvBelow(a.t, a.ctx, connect, "/tasks-"+session.NewID())
	e.beside(dispatch.NewMaster(e.client, "/queue", nil).Run)
	e.beside(dispatch.NewWorker(e.connect(), "/queue", func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		return []byte("done " + a.ID), nil
	}, nil).Run)
	queue := dispatch.New(e.admin, "/queue", nil)
	n := 0
	a.repeat("tasks", func(ctx context.Context) error {
		n++
		id := fmt.Sprintf("task-%d", n)
		if _, err := queue.Submit(ctx, dispatch.Task{ID: id}); err != nil {
			return err
		}
		result, err := queue.Collect(ctx, id)
		if err == nil && string(result.Output) != "done "+id {
			err = fmt.Errorf("the result of %s is %q", id, result.Output)
		}
		return err
	})
}

// crew is the workers of a job, who pass a barrier together, one round after the other.
type crew struct {
	job     *workerctl.Job
	workers []*workerctl.Worker
	rounds  int64
}

func (a *activities) startJob(connect connector) *crew {
	const n = 3
	job, err := workerctl.Submit(a.ctx, connect(""), workerctl.Spec{Name: "busy", Workers: n}, nil)
	require.NoError(a.t, err)
	c := &crew{job: job}
	for i := range n {
		mine, err := workerctl.Attach(a.ctx, connect(""), job.Name(), nil)
		require.NoError(a.t, err)
		w, err := mine.Join(a.ctx, workerctl.Identity{Name: fmt.Sprintf("worker-%d", i)})
		require.NoError(a.t, err)
		c.workers = append(c.workers, w)
	}
	a.repeat("meetings", c.meet)
	return c
}

// meet lets all workers pass the barrier once.
func (c *crew) meet(ctx context.Context) error {
	c.rounds++
	errs := make([]error, len(c.workers))
	var all sync.WaitGroup
	for i, w := range c.workers {
		// Waited for below; ends with ctx.
		all.Go(func() {
			round, err := w.Barrier(ctx, "step")
			if errs[i] = err; err == nil && round != c.rounds {
				errs[i] = fmt.Errorf("worker %d passes round %d, not %d", w.ID(), round, c.rounds)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// finish lets all workers leave, which finishes the job.
func (c *crew) finish(ctx context.Context, t *testing.T) {
	for _, w := range c.workers {
		require.NoError(t, w.Leave(ctx))
	}
	info, err := c.job.Wait(ctx)
	require.NoError(t, err)
	require.EqualValues(t, "finished", info.State)
}

// sharing is a group whose members come and go, and share resources.
type sharing struct {
	*env

	mu     sync.Mutex     // guards owners
	owners map[string]int // the member that owns each resource
	leave  []func()       // of the members
}

const shared = 6 // resources

func startSharing(ctx context.Context, t *testing.T, connect connector) *sharing {
	s := &sharing{env: newEnvBelow(t, ctx, connect, "/sharing-"+session.NewID()), owners: map[string]int{}}
	admin := rebalanser.Open(s.admin, groupPath, nil)
	require.NoError(t, admin.Create(ctx))
	var names []string
	for i := range shared {
		names = append(names, fmt.Sprintf("resource-%d", i))
	}
	_, err := admin.AddResources(ctx, names...)
	require.NoError(t, err)
	s.join()
	s.join()
	s.awaitBalance()
	return s
}

// join adds a member; the members are 0, 1 and 2, as they join.
func (s *sharing) join() {
	me := len(s.leave)
	member := rebalanser.New(s.connect(), groupPath, rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
		s.mu.Lock()
		other, owned := s.owners[r.Name()]
		s.owners[r.Name()] = me
		s.mu.Unlock()
		assert.False(s, owned, "%s has two owners: %d and %d", r.Name(), other, me)
		<-ctx.Done()
		s.mu.Lock()
		delete(s.owners, r.Name())
		s.mu.Unlock()
		return ctx.Err()
	}), nil)
	s.leave = append(s.leave, s.beside(func(ctx context.Context) error {
		assert.NoError(s, member.Run(ctx), "member %d", me)
		return nil
	}))
}

// change lets a third member join, or leave, and waits until the resources are shared evenly.
func (s *sharing) change() {
	s.Helper()
	if len(s.leave) == 2 {
		s.join()
	} else {
		s.leave[2]()
		s.leave = s.leave[:2]
	}
	s.awaitBalance()
}

func (s *sharing) awaitBalance() {
	s.Helper()
	members := len(s.leave)
	want := slices.Repeat([]int{shared / members}, members)
	ok := assert.Eventually(s, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		got := make([]int, members)
		for owner := range maps.Values(s.owners) {
			if owner < members {
				got[owner]++
			}
		}
		return slices.Equal(got, want)
	}, time.Minute, 10*time.Millisecond)
	if !ok {
		status, err := rebalanser.Open(s.admin, groupPath, nil).Status(s.ctx)
		s.Fatalf("%d members share %d resources: %v; %+v; %v", members, shared, s.owners, status, err)
	}
}
