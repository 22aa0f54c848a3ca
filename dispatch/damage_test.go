package dispatch_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// damage deletes a random znode of the queue with everything below it, or overwrites the
// data of a random znode.
func (w *World) damage(rnd *rand.Rand, overwrite bool) {
	w.Helper()
	dirs := []string{"tasks", "data", "results", "workers", "alive", "clients", "admission", "admission/open", "masters"}
	var paths []string
	for _, n := range w.Server.Dump() {
		if strings.HasPrefix(n.Path, path) {
			paths = append(paths, n.Path)
		}
	}
	at := path + "/" + dirs[rnd.Intn(len(dirs))]
	if rnd.Intn(3) > 0 && len(paths) > 0 {
		at = paths[rnd.Intn(len(paths))]
	}
	if overwrite && rnd.Intn(2) == 0 {
		_ = w.Server.Set(at, []byte("garbage")) // may not exist
	} else {
		_ = w.Server.DeleteAll(at)
	}
	w.Logf("damaged: %s", at)
}

// Znodes of a queue are deleted, and records overwritten, at random and repeatedly, while
// tasks run and masters and workers come and go. No role ends, new tasks work soon
// afterwards, and everything can be purged.
func TestQueueWorksAfterAnythingWasDeletedOrOverwritten(t *testing.T) {
	seeds := int64(8)
	if testing.Short() { // under the race detector
		seeds = 4
	}
	for seed := range seeds {
		overwrite := seed%2 == 1
		t.Run(fmt.Sprintf("%d, overwrite=%v", seed, overwrite), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				rnd := rand.New(rand.NewSource(seed))
				q := w.queue()
				masters := []*role{w.master(nil), w.master(nil)}
				workers := []*role{w.worker(asTold, nil), w.worker(asTold, nil)}
				for n := range 120 {
					task := dispatch.Task{ID: fmt.Sprint(n), Payload: []byte((time.Duration(rnd.Intn(3000)) * time.Millisecond).String())}
					_, err := q.Submit(w.Within(time.Minute), task)
					require.NoError(w, err)
					if n%3 > 0 {
						continue
					}
					w.damage(rnd, overwrite)
					w.Pass(time.Duration(rnd.Intn(4000)) * time.Millisecond)
					if n%4 == 0 {
						require.NoError(w, masters[0].end())
						masters = []*role{masters[1], w.master(nil)}
					}
					if n%7 == 0 {
						_ = workers[0].end() // a task that was overwritten cannot be given back
						workers = []*role{workers[1], w.worker(asTold, nil)}
					}
				}
				w.Pass(2 * time.Minute)
				for _, r := range append(masters, workers...) {
					require.Empty(w, r.done, "the role was still running")
				}
				for n := range 5 {
					id, began := fmt.Sprintf("new-%d", n), time.Now()
					w.submit(q, dispatch.Task{ID: id, Payload: []byte("1s")})
					require.Equal(w, "done", string(w.collect(q, id).State))
					require.Less(w, time.Since(began), 20*time.Second)
				}
				_, err := q.Purge(w.Ctx, "", "waiting", "assigned", "done", "failed", "canceled", "dead")
				require.NoError(w, err)
				st, err := q.Stats(w.Ctx)
				require.NoError(w, err)
				require.True(w, st.Open)
				require.Empty(w, idsOf(w, q))
				for _, r := range workers {
					_ = r.end()
				}
				w.empty()
			})
		})
	}
}

// A worker whose data cannot be read, such as a worker of a newer version, keeps the tasks
// that it has. Another master asks about the worker no more than about any other.
func TestWorkerThatCannotBeReadKeepsItsTasksAndCostsNothing(t *testing.T) {
	for _, data := range []string{"garbage", `{"format":2,"concurrency":[1]}`} {
		inWorld(t, nil, func(w *World) {
			q, c := w.queue(), w.Client()
			first := w.master(nil)
			w.worker(takes(10*time.Minute), nil)
			w.submit(q, dispatch.Task{ID: "x"})
			w.Settle()
			require.NoError(w, w.Server.Set(path+"/alive/"+w.get(q, "x").Worker, []byte(data)))
			require.NoError(w, first.end())
			master := w.beside(dispatch.NewMaster(c, path, nil).Run)
			w.Settle()
			before := w.Requests(c)
			w.Pass(5 * time.Minute)
			require.Less(w, w.Requests(c)-before, 1000, "mostly heartbeats")
			require.Equal(w, 1, w.get(q, "x").Attempt)
			require.Equal(w, "done", string(w.collect(q, "x").State))
			require.NoError(w, master.end())
		})
	}
}

// A task whose payload was deleted and whose result was overwritten can be removed.
func TestTaskWithoutPayloadAndWithGarbageAsResultIsRemoved(t *testing.T) {
	for _, state := range []string{"done", "canceled"} {
		inWorld(t, nil, func(w *World) {
			q := w.queue()
			w.submit(q, dispatch.Task{ID: "x", Delay: time.Minute})
			if state == "canceled" {
				require.NoError(w, q.Cancel(w.Ctx, "x"))
			} else {
				w.master(nil)
				worker := w.worker(echo, nil)
				w.Pass(2 * time.Minute)
				require.NoError(w, worker.end())
			}
			require.Equal(w, state, string(w.get(q, "x").State))
			w.purge([]string{"data"})
			result := path + "/results/" + w.Children(path + "/results")[0] + "/x"
			require.NoError(w, w.Server.Set(result, []byte("garbage")))
			require.NoError(w, q.Remove(w.Within(time.Minute), "x"))
			w.empty()
		})
	}
}

// A record that was copied to the path of another task is garbage: the error names the
// path, the original stays, and the copy can be removed.
func TestRecordThatWasCopiedIsGarbage(t *testing.T) {
	for name, remove := range map[string]func(w *World, q *dispatch.Queue) error{
		"Remove": func(w *World, q *dispatch.Queue) error { return q.Remove(w.Ctx, "copy") },
		"Purge": func(w *World, q *dispatch.Queue) error {
			removed, err := q.Purge(w.Ctx, "")
			require.Equal(w, 1, removed)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				w.submit(q, dispatch.Task{ID: "x"})
				n, err := w.Server.Get(path + "/tasks/" + w.Children(path + "/tasks")[0] + "/x")
				require.NoError(w, err)
				w.submit(q, dispatch.Task{ID: "copy"})
				at := ""
				for _, n := range w.Server.Dump() {
					if strings.HasPrefix(n.Path, path+"/tasks/") && strings.HasSuffix(n.Path, "/copy") {
						at = n.Path
					}
				}
				require.NoError(w, w.Server.Set(at, n.Data))
				_, err = q.Wait(w.Within(time.Minute), "copy")
				for _, err := range []error{err, q.Cancel(w.Ctx, "copy")} {
					require.ErrorIs(w, err, dispatch.ErrRecord)
					require.ErrorContains(w, err, at+`: not a record of this package: it is the record of the task "x"`)
				}
				require.NoError(w, remove(w, q))
				require.Equal(w, []string{"x"}, idsOf(w, q))
				require.Equal(w, "waiting", string(w.get(q, "x").State))
			})
		})
	}
}
