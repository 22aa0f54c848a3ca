package dispatch_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// counted is a handler that counts the attempts of each task.
type counted struct {
	// mu guards the next fields.
	mu    sync.Mutex
	begun map[string]int
	order []string
}

func (c *counted) handle(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == nil {
		c.begun = map[string]int{}
	}
	c.begun[a.ID]++
	c.order = append(c.order, a.ID)
	return nil, nil
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.begun)
}

// More tasks wait than the master keeps records of. They are changed, deleted and added
// meanwhile, and the master loses its connection: each task that is left is done once.
func TestLongQueueIsWorkedOff(t *testing.T) {
	n := 12_000
	if testing.Short() { // under the race detector
		n = 6000
	}
	inWorld(t, nil, func(w *World) {
		q := dispatch.New(w.Client(), path, &dispatch.Options{MaxTasks: 4 * n})
		w.submit(q, dispatch.Task{ID: "template"})
		w.flood(n)
		w.master(nil)
		w.Pass(10 * time.Second)
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.False(w, st.Published.IsZero())
		require.Equal(w, map[dispatch.State]int{"waiting": n + 1}, st.Tasks)
		name := func(i int) string { return fmt.Sprintf("waits-%06d", i) }
		for i := 0; i < n; i += 500 {
			require.NoError(w, q.Cancel(w.Ctx, name(i)))
			require.NoError(w, q.Remove(w.Ctx, name(i+1)))
		}
		w.submit(q, dispatch.Task{ID: "late"})
		w.submit(q, dispatch.Task{ID: "urgent", Priority: 1})
		w.Pass(5 * time.Second)
		st, err = q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, map[dispatch.State]int{"waiting": n + 3 - 2*n/500, "canceled": n / 500}, st.Tasks)
		w.Server.CutAll()
		var c counted
		w.worker(c.handle, &dispatch.WorkerOptions{Concurrency: 100})
		for range 600 {
			if w.Pass(time.Second); c.count() >= n/4 {
				break
			}
		}
		w.Server.CutAll()
		for range 600 {
			if w.Pass(time.Second); c.count() >= n+3-2*n/500 {
				break
			}
		}
		require.Len(w, c.begun, n+3-2*n/500)
		require.Contains(w, c.order[:200], "urgent")
		require.Contains(w, c.order[len(c.order)-300:], "late")
		for id, begun := range c.begun {
			require.Equal(w, 1, begun, id)
		}
	})
}

// A master that needs long to read all tasks begins to assign after a second, and gives a
// worker no more than it has room for.
func TestMasterAssignsBeforeItHasReadAllTasks(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	n := 12_000
	if testing.Short() { // under the race detector
		n = 6000
	}
	long := "long" // in the bucket of the template, whose folders exist then
	for sha256.Sum256([]byte(long))[0] != sha256.Sum256([]byte("template"))[0] {
		long += "g"
	}
	inWorld(t, nil, func(w *World) {
		q := dispatch.New(w.Client(), path, &dispatch.Options{MaxTasks: 4 * n})
		first := w.master(nil)
		var c counted
		busy := make(chan struct{})
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			if a.ID == long {
				select {
				case <-busy:
				case <-ctx.Done():
				}
			}
			return c.handle(ctx, a)
		}, &dispatch.WorkerOptions{Concurrency: 2, Prefetch: -1})
		w.submit(q, dispatch.Task{ID: long})
		w.Pass(time.Second)
		require.NoError(w, first.end())
		w.submit(q, dispatch.Task{ID: "template"})
		w.flood(n)
		w.Server.Delay(zktest.Link{}, zktest.Both, 200*time.Millisecond)
		mc := w.Client()
		master, listed, before := w.ID(mc), 0, -1
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			switch {
			case r.Session != master:
			case r.Op == "getChildren2" && strings.HasPrefix(r.Path, path+"/tasks/"):
				listed++
			case r.Op == "multi" && before < 0 && slices.ContainsFunc(r.Paths, func(p string) bool { return strings.HasPrefix(p, path+"/workers/") }):
				before = listed
			}
			return zktest.Action{}
		})
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		for c.count() == 0 {
			w.Pass(50 * time.Millisecond)
			require.LessOrEqual(w, len(w.assignments()), 2)
		}
		require.Positive(w, before)
		require.Less(w, before, 200, "lists of 256 folders before the first assignment")
		for range 100 {
			w.Pass(50 * time.Millisecond)
			require.LessOrEqual(w, len(w.assignments()), 2)
		}
		close(busy)
		w.Pass(time.Minute)
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.False(w, st.Published.IsZero())
		total := 0
		for _, k := range st.Tasks {
			total += k
		}
		require.Equal(w, n+2, total)
	})
}

// A server without persistent watches.
func TestQueueOnAnOldServer(t *testing.T) {
	inWorld(t, &zktest.Options{OldServer: true}, func(w *World) {
		q := w.queue()
		w.master(nil)
		worker := w.worker(echo, nil)
		var all sync.WaitGroup
		for i := range 50 {
			// Waited for below; ends with the task.
			all.Go(func() {
				id, err := q.Submit(w.Ctx, numbered(i))
				if err == nil {
					_, err = q.Collect(w.Ctx, id)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.NoError(w, worker.end())
		w.empty()
	})
}

// Many clients submit and collect at the same time, while replies are lost: each task is done,
// and each call has its own result.
func TestConcurrentCallsHaveTheirOwnResults(t *testing.T) {
	const n = 100
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropReplyHole, zktest.ExpireAfter} {
		inWorld(t, nil, func(w *World) {
			q := w.queue()
			w.master(nil)
			worker := w.worker(echo, &dispatch.WorkerOptions{Concurrency: 32})
			w.submit(q, dispatch.Task{ID: "taken", Payload: []byte("other")})
			k := 0
			w.Server.OnRequest(func(r zktest.Request) zktest.Action {
				if r.OnlyChecks || r.Op != "multi" && r.Op != "multiRead" {
					return zktest.Action{}
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if k++; k%7 == 3 && k < 60 {
					return zktest.Action{Do: fault}
				}
				return zktest.Action{}
			})
			var all sync.WaitGroup
			for i := range n {
				// Waited for below; ends with the task.
				all.Go(func() {
					task := numbered(i)
					if i%20 == 7 {
						task.ID = "taken"
					}
					_, err := q.Submit(w.Within(time.Hour), task)
					if i%20 == 7 {
						if err == nil || !errors.Is(err, dispatch.ErrConflict) {
							t.Errorf("%d: %v", i, err)
						}
						return
					}
					r, err2 := q.Collect(w.Within(time.Hour), task.ID)
					if err != nil || err2 != nil || string(r.Output) != string(task.Payload) || r.State != "done" {
						t.Errorf("%d: %v, %v, %+v", i, err, err2, r)
					}
				})
			}
			all.Wait()
			w.collect(q, "taken")
			require.NoError(w, worker.end())
			w.empty()
		})
	}
}
