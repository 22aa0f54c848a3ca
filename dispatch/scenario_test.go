package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The scenarios of the original: clients that submit 20 tasks of 3 s, one a
// second, and workers that run one task at a time while the others wait.

// seconds is a handler that works for the number of seconds in its payload.
func seconds(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
	n, err := strconv.Atoi(string(a.Payload))
	if err != nil {
		return nil, err
	}
	world.SleepContext(ctx, time.Duration(n)*time.Second)
	return []byte("ran " + string(a.Payload)), ctx.Err()
}

// lane is a worker that runs one task at a time.
func lane(name string) *dispatch.WorkerOptions {
	return &dispatch.WorkerOptions{Name: name, Concurrency: 1, Prefetch: 40}
}

// given records the assignments in order: the workers' names and the tasks'
// ids.
type given struct {
	mu      sync.Mutex
	there   map[string]bool
	workers []string
	tasks   []string
}

// watch notes each assignment.
func (w *World) watch() *given {
	g := &given{there: map[string]bool{}}
	w.Server.OnApply(func(txn zktest.Txn) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range slices.Compact(slices.Sorted(slices.Values(txn.Paths))) { // the same path is checked and deleted
			elems := strings.Split(p, "/")
			if txn.Code != 0 || len(elems) != 5 || elems[2] != "workers" {
				continue
			}
			if g.there[p] = !g.there[p]; g.there[p] {
				name, _, _ := strings.Cut(elems[3], "~")
				task, _, _ := strings.Cut(elems[4], "~")
				g.workers, g.tasks = append(g.workers, name), append(g.tasks, task)
			}
		}
	})
	return g
}

// of counts the assignments of a worker.
func (g *given) of(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, w := range g.workers {
		if w == name {
			n++
		}
	}
	return n
}

func (g *given) total() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.workers)
}

// life submits n tasks of 3 s, one a second, waits for each, and cleans up (M26).
func (w *World) life(q *dispatch.Queue, n int) <-chan error {
	out := make(chan error, 1)
	// The test waits for this goroutine; ends with the world's context at the
	// latest.
	go func() {
		var ids []string
		for range n {
			id, err := q.Submit(w.Ctx, dispatch.Task{Payload: []byte("3")})
			if err != nil {
				out <- err
				return
			}
			ids = append(ids, id)
			world.SleepContext(w.Ctx, time.Second)
		}
		for _, id := range ids {
			r, err := q.Collect(w.Ctx, id)
			if err == nil && (r.State != "done" || string(r.Output) != "ran 3") {
				err = errors.New("result: " + string(r.Output) + r.Error)
			}
			if err != nil {
				out <- err
				return
			}
		}
		out <- nil
	}()
	return out
}

// holds is the number of tasks of the named worker.
func (w *World) holds(q *dispatch.Queue, name string) int {
	w.Helper()
	st, err := q.Stats(w.Ctx)
	require.NoError(w, err)
	for _, k := range st.Workers {
		if k.Name == name {
			return k.Assigned
		}
	}
	return 0
}

// kill ends a client's session like a death, and stops its role.
func (w *World) kill(c *session.Client, r *role) {
	w.Helper()
	w.Expire(c)
	_ = r.end()
}

// workerWith starts a worker whose client the test can kill.
func (w *World) workerWith(h dispatch.Handler, o *dispatch.WorkerOptions) (*session.Client, *role) {
	c := w.Client()
	return c, w.beside(dispatch.NewWorker(c, path, h, o).Run)
}

func (w *World) masterWith(o *dispatch.Options) (*session.Client, *role) {
	c := w.Client()
	return c, w.beside(dispatch.NewMaster(c, path, o).Run)
}

// The client dies: no new tasks come, existing tasks are run, a new client can
// start, and the dead client's results are removed after their retention.
func TestClientDies_M11(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(seconds, lane("a"))
		dies := w.Client()
		q := dispatch.New(dies, path, nil)
		for range 5 {
			w.submit(q, dispatch.Task{Payload: []byte("3"), Retention: time.Minute})
		}
		w.Pass(time.Second)
		w.Expire(dies)
		next := w.queue()
		require.NoError(w, <-w.life(next, 3))
		list, err := next.List(w.Ctx)
		require.NoError(w, err)
		for _, in := range list {
			require.Equal(w, dispatch.State("done"), in.State)
		}
		require.NotEmpty(w, list)
		w.Pass(2 * time.Minute)
		list, err = next.List(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, list)
	})
}

// The only worker dies: tasks wait for a new worker.
func TestOnlyWorkerDies_M12_M24_M27(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		c, r := w.workerWith(seconds, lane("a"))
		q := w.queue()
		end := w.life(q, 20)
		w.Pass(10 * time.Second)
		w.kill(c, r)
		w.Pass(30 * time.Second)
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, 0, st.Tasks["assigned"])
		require.Equal(w, 17, st.Tasks["waiting"])
		require.Equal(w, 0, st.Tasks["done"], "they were collected")
		w.worker(seconds, lane("b"))
		require.NoError(w, <-end)
		w.Settle()
		require.Len(w, remains(w.Server), 2, "the living worker")
	})
}

// One of two workers is killed with four tasks: the other worker gets these
// tasks, which makes 24 assignments of 20 tasks (c1w2m1).
func TestOneOfTwoWorkersDies_M8_M9_M13_M28(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.watch()
		w.master(nil)
		w.worker(seconds, lane("a"))
		c, r := w.workerWith(seconds, lane("b"))
		w.Settle()
		q := w.queue()
		end := w.life(q, 20)
		for w.holds(q, "b") != 4 || w.holds(q, "a") <= 3 {
			w.Pass(100 * time.Millisecond)
		}
		w.kill(c, r)
		require.NoError(w, <-end)
		require.Equal(w, 24, g.total(), "assignments of 20 tasks")
		seen := map[string]int{}
		for _, task := range g.tasks {
			seen[task]++
		}
		twice := 0
		for _, n := range seen {
			require.LessOrEqual(w, n, 2)
			twice += n - 1
		}
		require.Equal(w, 4, twice, "tasks assigned to another worker")
		w.Settle()
		require.Len(w, remains(w.Server), 2, "the living worker")
	})
}

// Two clients, two workers: the tasks alternate, and nothing is left (c2w2m1).
func TestTwoClientsTwoWorkers_M8_M9_M14_M28(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.watch()
		w.master(nil)
		a, b := w.worker(seconds, lane("a")), w.worker(seconds, lane("b"))
		w.Settle()
		first, second := w.life(w.queue(), 20), w.life(w.queue(), 20)
		require.NoError(w, <-first)
		require.NoError(w, <-second)
		require.Equal(w, 40, g.total(), "assignments of 40 tasks")
		require.Equal(w, 20, g.of("a"))
		require.Equal(w, 20, g.of("b"))
		_, _ = a.end(), b.end()
		w.empty()
	})
}

// Six concurrent tasks are split evenly between two workers.
func TestEvenSplit_M9(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.watch()
		q := w.queue()
		for n := range 6 {
			w.submit(q, numbered(n))
		}
		w.worker(takes(time.Minute), lane("a"))
		w.worker(takes(time.Minute), lane("b"))
		w.Settle()
		w.master(nil)
		w.Settle()
		require.Equal(w, 3, g.of("a"))
		require.Equal(w, 3, g.of("b"))
	})
}

// The master is killed after some assignments: its backup takes over, no client
// or worker is affected, and no task is assigned twice (c2w2m2).
func TestMasterDies_M4_M6_M15_M20_M25_M28(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.watch()
		c, r := w.masterWith(&dispatch.Options{ID: "first"})
		w.Settle()
		backup, _ := w.masterWith(&dispatch.Options{ID: "second"})
		a, b := w.worker(seconds, lane("a")), w.worker(seconds, lane("b"))
		w.Settle()
		w.ResetStats()
		q := w.queue()
		first, second := w.life(w.queue(), 20), w.life(w.queue(), 20)
		w.Pass(5 * time.Second)
		before, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "first", before.Master)
		require.LessOrEqual(w, w.Requests(backup), 1, "a backup reads nothing but the two before it, and once itself")
		w.kill(c, r)
		w.Pass(time.Second)
		after, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "second", after.Master)
		require.Greater(w, after.Term, before.Term)
		require.Greater(w, after.Token, before.Token)
		require.NoError(w, <-first)
		require.NoError(w, <-second)
		require.Equal(w, 40, g.total(), "assignments of 40 tasks, no resets")
		_, _ = a.end(), b.end()
		w.empty()
	})
}

// The master does not die but lags: its requests after another master leads
// change nothing (each transaction begins with the guard).
func TestMasterLags_M16(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.watch()
		old := w.Client() // c1
		w.beside(dispatch.NewMaster(old, path, nil).Run)
		w.Settle()
		oldID := w.ID(old)
		w.master(nil)
		a, b := w.worker(seconds, lane("a")), w.worker(seconds, lane("b"))
		w.Settle()
		late, wrong := 0, 0
		var deposed time.Time
		// From then on the old master may lead again.
		recently := func() bool { return !deposed.IsZero() && time.Since(deposed) <= 2*time.Second }
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session == oldID && r.Op == "multi" && !r.OnlyChecks && recently() {
				late++
			}
			return zktest.Action{}
		})
		w.Server.OnApply(func(txn zktest.Txn) {
			if txn.Session == oldID && txn.Op == "multi" && txn.Code == 0 && recently() {
				wrong++
			}
		})
		first, second := w.life(w.queue(), 20), w.life(w.queue(), 20)
		w.Pass(5 * time.Second)
		// Its requests arrive 2 s late from now on, as if the master had been paused; and
		// its election node is deleted, as if its session had ended.
		w.Server.Delay(linkOf(1), zktest.ToServer, 2*time.Second)
		w.Pass(3500 * time.Millisecond)
		// The next master is slow, too: these tasks are untouched when the late
		// requests arrive.
		w.Server.Delay(linkOf(2), zktest.ToServer, 3*time.Second)
		deposed = time.Now()
		names := w.Children(path + "/masters")
		for _, name := range names {
			n, err := w.Server.Get(path + "/masters/" + name)
			require.NoError(w, err)
			if n.EphemeralOwner == oldID {
				require.NoError(w, w.Server.Delete(n.Path))
			}
		}
		w.Pass(5 * time.Second)
		w.Server.Heal()
		require.NoError(w, <-first)
		require.NoError(w, <-second)
		require.Positive(w, late, "the old master's requests arrive")
		require.Zero(w, wrong, "and changes nothing")
		require.Equal(w, 40, g.total(), "assignments of 40 tasks, no resets")
		_, _ = a.end(), b.end()
		w.empty()
	})
}

// A server dies with a client of each role: other clients of each role use
// other servers, so everything continues.
func TestServerDiesWithOneOfEachRole_M17_M18(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		at := func(server int) *session.Client {
			return w.ClientAt(w.Server.ServerAddr(server), session.Options{})
		}
		w.beside(dispatch.NewMaster(at(2), path, nil).Run)
		w.Settle()
		w.beside(dispatch.NewMaster(at(3), path, nil).Run)
		w.beside(dispatch.NewWorker(at(2), path, seconds, lane("a")).Run)
		b := w.beside(dispatch.NewWorker(at(3), path, seconds, lane("b")).Run)
		w.Settle()
		dies := dispatch.New(at(2), path, nil)
		w.submit(dies, dispatch.Task{ID: "of-the-dead", Payload: []byte("3")})
		q := dispatch.New(at(3), path, nil)
		end := w.life(q, 20)
		w.Pass(6 * time.Second)
		require.NoError(w, w.Server.Stop(2))
		require.NoError(w, <-end)
		require.Equal(w, "done", string(w.collect(q, "of-the-dead").State))
		require.NoError(w, w.Server.Restart(2))
		_ = b.end()
		w.Pass(time.Minute)
	})
}
