package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// beside runs a role until the end of the test, or until stop.
func beside(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	// Waited for by stop; ends with ctx.
	go func() {
		defer close(done)
		if err := run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, session.ErrLost) {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// The life of tasks on a real server: done, failed, dead, canceled, requeued, full.
func TestEssentialsOnApache_M1_M26(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 256})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const at = "/dispatch-essentials"
	c := world.Connect(t, cluster.Connect(), session.Options{})
	q := dispatch.New(c, at, nil)
	_, err := q.Submit(ctx, dispatch.Task{ID: "early", Payload: []byte("x")})
	require.NoError(t, err)
	beside(t, dispatch.NewMaster(world.Connect(t, cluster.Connect(), session.Options{}), at, &dispatch.Options{MaxTasks: 300}).Run)
	beside(t, dispatch.NewMaster(c, at, &dispatch.Options{MaxTasks: 300}).Run)
	var fail atomic.Bool
	fail.Store(true)
	worker := dispatch.NewWorker(world.Connect(t, cluster.Connect(), session.Options{}), at, func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		switch a.ID {
		case "fails":
			return nil, dispatch.ErrPermanent
		case "dies":
			if fail.Load() {
				return nil, errors.New("no")
			}
		case "hangs":
			a.ReportProgress(1, 3, "hanging")
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return a.Payload, nil
	}, nil)
	beside(t, worker.Run)
	r, err := q.Collect(ctx, "early")
	require.NoError(t, err)
	require.Equal(t, "x", string(r.Output))
	for _, id := range []string{"fails", "dies", "hangs"} {
		_, err := q.Submit(ctx, dispatch.Task{ID: id, MaxAttempts: 2, Backoff: 10 * time.Millisecond, Payload: []byte(id)})
		require.NoError(t, err)
	}
	r, err = q.Wait(ctx, "fails")
	require.NoError(t, err)
	require.Equal(t, dispatch.State("failed"), r.State)
	r, err = q.Wait(ctx, "dies")
	require.NoError(t, err)
	require.Equal(t, dispatch.State("dead"), r.State)
	fail.Store(false)
	require.NoError(t, q.Requeue(ctx, "dies"))
	r, err = q.Collect(ctx, "dies")
	require.NoError(t, err)
	require.Equal(t, dispatch.State("done"), r.State)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		list, err := q.Running(ctx, "hangs")
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, []any{int64(1), int64(3), "hanging"}, []any{list[0].Done, list[0].Total, list[0].Note})
		assert.WithinDuration(t, time.Now(), list[0].Reported, time.Minute)
	}, 30*time.Second, 100*time.Millisecond)
	first, isNew, err := q.SubmitUnique(ctx, dispatch.Task{ID: "unique", Delay: time.Hour}, "a/key", 24*365*10*time.Hour)
	require.NoError(t, err)
	require.True(t, isNew)
	require.NoError(t, q.Cancel(ctx, first))
	_, err = q.Collect(ctx, first)
	require.NoError(t, err)
	again, isNew, err := q.SubmitUnique(ctx, dispatch.Task{}, "a/key", 24*365*10*time.Hour)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.False(t, isNew)
	require.NoError(t, q.Cancel(ctx, "hangs"))
	r, err = q.Collect(ctx, "hangs")
	require.NoError(t, err)
	require.Equal(t, dispatch.State("canceled"), r.State)
	_, err = q.Collect(ctx, "fails")
	require.NoError(t, err)
	const n = 200
	for i := range n {
		_, err := q.Submit(ctx, numbered(i))
		require.NoError(t, err)
	}
	for i := range n {
		r, err := q.Wait(ctx, numbered(i).ID)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(r.Output))
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		st, err := q.Stats(ctx)
		require.NoError(t, err)
		assert.Equal(t, map[dispatch.State]int{"done": n}, st.Tasks)
		assert.False(t, st.Published.IsZero())
	}, world.Patience, 100*time.Millisecond)
	require.NoError(t, worker.Drain(ctx))
	for i := n; ; i++ {
		if _, err = q.Submit(ctx, numbered(i)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, dispatch.ErrFull)
}

// Slots of a schedule are run on a real server, also after its master has changed, and not when
// it was deleted.
func TestSchedulesOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 256})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const at = "/dispatch-schedules"
	q := dispatch.New(world.Connect(t, cluster.Connect(), session.Options{}), at, nil)
	ran := make(chan string, 100)
	beside(t, dispatch.NewWorker(world.Connect(t, cluster.Connect(), session.Options{}), at, func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		ran <- a.ID
		return nil, nil
	}, nil).Run)
	stop := beside(t, dispatch.NewMaster(world.Connect(t, cluster.Connect(), session.Options{}), at, nil).Run)
	require.NoError(t, q.SetSchedule(ctx, dispatch.Schedule{Name: "a/b", Every: time.Second, Task: dispatch.Task{Payload: []byte("x"), Retention: time.Millisecond}}))
	seen := map[string]bool{}
	await := func(n int) {
		t.Helper()
		for range n {
			select {
			case id := <-ran:
				require.False(t, seen[id], id)
				seen[id] = true
			case <-ctx.Done():
				require.NoError(t, ctx.Err())
			}
		}
	}
	await(2)
	stop()
	beside(t, dispatch.NewMaster(world.Connect(t, cluster.Connect(), session.Options{}), at, nil).Run)
	await(2)
	list, err := q.Schedules(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, list[0].Err)
	require.WithinDuration(t, time.Now(), list[0].Last, time.Minute)
	existed, err := q.DeleteSchedule(ctx, "a/b")
	require.NoError(t, err)
	require.True(t, existed)
	existed, err = q.DeleteSchedule(ctx, "a/b")
	require.NoError(t, err)
	require.False(t, existed)
	list, err = q.Schedules(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
}

// Folders of a queue are deleted one by one on a real server, and records overwritten,
// while a master and a worker run; a new task works after each damage.
func TestQueueWorksAfterDamageOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 256})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const at = "/dispatch-damage"
	c := world.Connect(t, cluster.Connect(), session.Options{})
	q := dispatch.New(c, at, &dispatch.Options{WaitForRoom: true}) // the master must notice first that it is closed
	beside(t, dispatch.NewMaster(world.Connect(t, cluster.Connect(), session.Options{}), at, nil).Run)
	beside(t, dispatch.NewWorker(world.Connect(t, cluster.Connect(), session.Options{}), at, echo, nil).Run)
	works := func(damage string) {
		t.Helper()
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		id, err := q.Submit(within, dispatch.Task{Payload: []byte(damage)})
		require.NoError(t, err, damage)
		r, err := q.Collect(within, id)
		require.NoError(t, err, damage)
		require.Equal(t, damage, string(r.Output))
	}
	works("none")
	s, err := c.Session(ctx)
	require.NoError(t, err)
	for _, dir := range []string{"tasks", "data", "results", "workers", "alive", "clients", "masters", "admission/open", "admission"} {
		for {
			err := errors.Join(optimistic.DeleteBelow(ctx, s, at+"/"+dir), optimistic.DeleteAll(ctx, s, at+"/"+dir))
			if err == nil {
				break
			}
			// The roles create znodes there at the same time.
			if !errors.Is(err, session.ErrNotEmpty) && !errors.Is(err, optimistic.ErrChanged) {
				require.NoError(t, err, dir)
			}
		}
		works(dir + " deleted")
	}
	workers, err := q.Workers(ctx)
	require.NoError(t, err)
	for _, path := range []string{at + "/admission", at + "/alive/" + workers[0].ID} {
		_, err := s.Set(ctx, path, []byte("garbage"), -1)
		require.NoError(t, err)
		works(path + " overwritten")
	}
	_, err = q.Purge(ctx, "", "waiting", "assigned", "done", "failed", "canceled", "dead")
	require.NoError(t, err)
}

// Workers and masters come and go while the server is killed, paused and restarted;
// every task ends once, as a handler said.
func TestStressOnApache_M24(t *testing.T) {
	trouble := 3 * time.Second
	if testing.Short() {
		trouble = 2 * time.Second
	}
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const at = "/dispatch-stress"
	o := session.Options{Timeout: 2 * time.Second}
	var mu sync.Mutex
	var runs []run
	handler := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		x := run{task: a.ID, attempt: a.Number, token: a.Token(), from: time.Now()}
		x.to = world.LastSeen(ctx, x.from, time.Duration(rand.Int64N(int64(100*time.Millisecond))))
		var out []byte
		err := ctx.Err()
		if err == nil {
			out = fmt.Appendf(nil, "%s by %d", a.Payload, a.Token())
		}
		x.output = string(out)
		mu.Lock()
		defer mu.Unlock()
		runs = append(runs, x)
		return out, err
	}
	busy, calm := context.WithTimeout(ctx, trouble)
	defer calm()
	var all sync.WaitGroup
	play := func(c *session.Client, run func() func(context.Context) error) {
		for busy.Err() == nil {
			own, stop := context.WithTimeout(busy, time.Duration(rand.Int64N(int64(2*time.Second))))
			if err := run()(own); own.Err() == nil && !errors.Is(err, session.ErrLost) {
				t.Error(err)
			}
			stop()
		}
	}
	for range 2 {
		m, k := world.Connect(t, cluster.Connect(), o), world.Connect(t, cluster.Connect(), o)
		// Waited for below; ends with busy.
		all.Go(func() {
			play(m, func() func(context.Context) error { return dispatch.NewMaster(m, at, nil).Run })
		})
		// Waited for below; ends with busy.
		all.Go(func() {
			play(k, func() func(context.Context) error { return dispatch.NewWorker(k, at, handler, nil).Run })
		})
	}
	fates := map[string]*fate{}
	q := dispatch.New(world.Connect(t, cluster.Connect(), o), at, nil)
	// Waited for below; ends with busy.
	all.Go(func() {
		for i := 0; busy.Err() == nil; i++ {
			task := numbered(i)
			task.MaxAttempts = 50
			f := &fate{maxAttempts: 50, ends: 1}
			if _, err := q.Submit(ctx, task); err != nil {
				t.Error(err)
				return
			}
			f.confirmed = true
			mu.Lock()
			fates[task.ID] = f
			mu.Unlock()
			world.SleepContext(busy, 10*time.Millisecond)
		}
	})
	for busy.Err() == nil {
		world.SleepContext(busy, time.Duration(rand.Int64N(int64(time.Second))))
		if rand.IntN(2) == 0 {
			require.NoError(t, cluster.Pause(t.Context(), 0))
			world.SleepContext(busy, time.Duration(rand.Int64N(int64(2*time.Second))))
			require.NoError(t, cluster.Resume(t.Context(), 0))
		} else {
			require.NoError(t, cluster.Restart(t.Context(), 0))
		}
	}
	require.NoError(t, cluster.Await(t.Context()))
	all.Wait()
	o.Timeout = 30 * time.Second // from now on no session is to be lost
	beside(t, dispatch.NewMaster(world.Connect(t, cluster.Connect(), o), at, nil).Run)
	stop := beside(t, dispatch.NewWorker(world.Connect(t, cluster.Connect(), o), at, handler, nil).Run)
	q = dispatch.New(world.Connect(t, cluster.Connect(), o), at, nil)
	for id, f := range fates {
		r, err := q.Collect(ctx, id)
		require.NoError(t, err)
		f.result = &r
	}
	stop()
	list, err := q.List(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
	mu.Lock()
	defer mu.Unlock()
	require.NoError(t, checkHistory(runs, fates))
	t.Logf("%d tasks, %d handlers", len(fates), len(runs))
}
