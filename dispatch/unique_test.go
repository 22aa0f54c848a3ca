package dispatch_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
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
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// unique submits a unique task.
func (w *World) unique(q *dispatch.Queue, key string, period time.Duration) (id string, isNew bool) {
	w.Helper()
	id, isNew, err := q.SubmitUnique(w.Within(time.Minute), dispatch.Task{Payload: []byte(key)}, key, period)
	require.NoError(w, err)
	return id, isNew
}

// keys are the znodes of keys.
func keys(s *zktest.Server) (out []string) {
	for _, n := range s.Dump() {
		if rest, inside := strings.CutPrefix(n.Path, path+"/unique/"); inside && strings.Count(rest, "/") == 1 {
			out = append(out, n.Path)
		}
	}
	return out
}

// watchKeys asserts at each change that keys and tasks fit together, and that the key of a
// period goes to a task of a later period only.
func watchKeys(s *zktest.Server, fail func(error)) {
	type key struct {
		Run   string
		Until time.Time
	}
	var mu sync.Mutex
	last := map[string]key{}
	s.OnApply(func(txn zktest.Txn) {
		mu.Lock()
		defer mu.Unlock()
		if txn.Code != 0 {
			return
		}
		for _, p := range txn.Paths {
			node, err := s.Get(p)
			if err != nil || strings.Count(p, "/") != 4 || !strings.HasPrefix(p, path+"/unique/") {
				continue
			}
			var now key
			if err := json.Unmarshal(node.Data, &now); err != nil {
				fail(err)
			}
			if was := last[p]; was.Run != "" && was.Run != now.Run && !was.Until.IsZero() && !now.Until.After(was.Until) {
				fail(fmt.Errorf("the period until %v has two tasks: %s", was.Until, p))
			}
			last[p] = now
		}
		if err := checkTree(s.Dump()); err != nil {
			fail(err)
		}
	})
}

// Without a period, a key is taken until its task ends, in any state, whatever happens to
// the task then.
func TestUniqueTaskHasItsKeyUntilItEnds(t *testing.T) {
	for name, end := range map[string]func(w *World, q *dispatch.Queue, id string){
		"done": func(w *World, q *dispatch.Queue, _ string) {
			m, k := w.master(nil), w.worker(echo, nil)
			w.Pass(time.Second)
			require.NoError(w, k.end())
			require.NoError(w, m.end())
		},
		"canceled": func(w *World, q *dispatch.Queue, id string) { require.NoError(w, q.Cancel(w.Ctx, id)) },
		"collected": func(w *World, q *dispatch.Queue, id string) {
			require.NoError(w, q.Cancel(w.Ctx, id))
			w.collect(q, id)
		},
		"deleted by hand": func(w *World, _ *dispatch.Queue, _ string) {
			require.NoError(w, w.Server.DeleteAll(path+"/tasks"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q, other := w.queue(), w.queue()
				first, isNew := w.unique(q, "a/b", 0)
				require.True(w, isNew)
				for _, q := range []*dispatch.Queue{q, other} {
					again, isNew := w.unique(q, "a/b", 0)
					require.Equal(w, first, again)
					require.False(w, isNew)
				}
				in := w.get(q, first)
				require.Equal(w, "a/b", in.Key)
				require.Zero(w, in.KeyUntil)
				_, isNew = w.unique(q, "another", 0)
				require.True(w, isNew)
				end(w, q, first)
				next, isNew := w.unique(other, "a/b", 0)
				require.NotEqual(w, first, next)
				require.True(w, isNew)
				again, isNew := w.unique(q, "a/b", 0)
				require.Equal(w, next, again)
				require.False(w, isNew)
			})
		})
	}
}

// With a period, a key is taken for the rest of the period, even if the task has ended and is
// gone; in the next period it is free, even if the task has not ended.
func TestUniqueTaskOfAPeriod(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, other := w.queue(), w.queue()
		w.Pass(90 * time.Minute)
		first, isNew := w.unique(q, "k", time.Hour)
		require.True(w, isNew)
		require.Equal(w, time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC), w.get(q, first).KeyUntil)
		require.NoError(w, q.Cancel(w.Ctx, first))
		w.collect(q, first)
		w.Pass(29 * time.Minute)
		again, isNew := w.unique(other, "k", time.Hour)
		require.Equal(w, first, again)
		require.False(w, isNew)
		w.Pass(time.Minute)
		next, isNew := w.unique(other, "k", time.Hour)
		require.True(w, isNew)
		w.Pass(time.Hour)
		third, isNew := w.unique(q, "k", time.Hour)
		require.True(w, isNew)
		require.NotEqual(w, next, third)
		require.Equal(w, dispatch.State("waiting"), w.get(q, next).State)
		_, isNew = w.unique(q, "k", 30*time.Minute)
		require.False(w, isNew, "a shorter period lies within the longer one")
		_, isNew = w.unique(q, "k", 0)
		require.False(w, isNew, "the task has not ended")
	})
}

// Of many submitters, one makes the task, and all get its id.
func TestOneOfManySubmittersMakesTheUniqueTask(t *testing.T) {
	for name, period := range map[string]time.Duration{"without a period": 0, "with a period": time.Hour} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				var all sync.WaitGroup
				var mu sync.Mutex
				ids, made := map[string]int{}, 0
				round := func(clients []*dispatch.Queue) {
					clear(ids)
					made = 0
					for _, q := range clients {
						for range 5 {
							// Waited for below; ends with the call.
							all.Go(func() {
								id, isNew, err := q.SubmitUnique(w.Within(time.Minute), dispatch.Task{}, "k", period)
								mu.Lock()
								defer mu.Unlock()
								if ids[id]++; isNew {
									made++
								}
								if err != nil {
									w.Error(err)
								}
							})
						}
					}
					all.Wait()
				}
				clients := []*dispatch.Queue{w.queue(), w.queue(), w.queue()}
				for range 3 { // the first round finds no folder, and no key
					round(clients)
					require.Equal(w, 1, made)
					require.Len(w, ids, 1)
					for id := range ids {
						require.NoError(w, clients[0].Cancel(w.Ctx, id))
					}
					w.Pass(period)
				}
			})
		})
	}
}

// A requeued task takes its key again, unless another task has it.
func TestRequeuedTaskTakesItsKey(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		first, _ := w.unique(q, "k", 0)
		require.NoError(w, q.Cancel(w.Ctx, first))
		second, _ := w.unique(q, "k", 0)
		err := q.Requeue(w.Ctx, first)
		require.ErrorIs(w, err, dispatch.ErrState)
		require.ErrorContains(w, err, second)
		require.NoError(w, q.Cancel(w.Ctx, second))
		require.NoError(w, q.Requeue(w.Ctx, first))
		id, isNew := w.unique(q, "k", 0)
		require.Equal(w, first, id)
		require.False(w, isNew)
		require.ErrorIs(w, q.Requeue(w.Ctx, second), dispatch.ErrState)
		require.NoError(w, q.Cancel(w.Ctx, first))
		w.collect(q, second)
		require.NoError(w, w.Server.DeleteAll(path+"/unique"))
		require.NoError(w, q.Requeue(w.Ctx, first))
		id, isNew = w.unique(q, "k", 0)
		require.Equal(w, first, id, "without the folder too")
		require.False(w, isNew)
		// The key of a period is not a matter of the task's state.
		one, _ := w.unique(q, "p", time.Hour)
		require.NoError(w, q.Cancel(w.Ctx, one))
		require.NoError(w, q.Requeue(w.Ctx, one))
		require.NoError(w, checkTree(w.Server.Dump()))
	})
}

// A client of a former version requeues a task without its key, between the moments when a
// submitter reads the ended task and takes its key: the key stays with that task.
func TestKeyIsNotTakenFromATaskThatIsRequeuedMeanwhile(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		first, _ := w.unique(q, "k", 0)
		task := ""
		for _, n := range w.Server.Dump() {
			if strings.HasPrefix(n.Path, path+"/tasks/") && strings.HasSuffix(n.Path, "/"+first) {
				task = n.Path
			}
		}
		waits, err := w.Server.Get(task)
		require.NoError(w, err)
		require.NoError(w, q.Cancel(w.Ctx, first))
		key, tries := keys(w.Server)[0], 0
		remove := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "multi" && slices.Contains(r.Paths, key) {
				if tries++; tries == 2 { // the first finds the key
					_ = w.Server.Set(task, waits.Data)
				}
			}
			return zktest.Action{}
		})
		defer remove()
		id, isNew := w.unique(q, "k", 0)
		require.Equal(w, first, id)
		require.False(w, isNew)
		require.Equal(w, 2, tries)
	})
}

// A master that finds free keys does not wait for its next round.
func TestManyFreeKeysAreSweptSoon(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		id, _ := w.unique(q, "0", 0)
		require.NoError(w, q.Cancel(w.Ctx, id))
		node, err := w.Server.Get(keys(w.Server)[0])
		require.NoError(w, err)
		for n := range 256 {
			name := fmt.Sprint("key", n)
			bucket := fmt.Sprintf("%s/unique/%02x", path, sha256.Sum256([]byte(name))[0])
			_ = w.Server.Create(bucket, nil)
			data := strings.Replace(string(node.Data), `"key":"0"`, fmt.Sprintf(`"key":%q`, name), 1)
			require.NoError(w, w.Server.Create(bucket+"/"+name, []byte(data)))
		}
		w.master(nil)
		w.Pass(50 * time.Minute) // a round without finds takes 85
		require.Empty(w, keys(w.Server))
	})
}

// The master deletes keys of ended tasks, and of periods that have been over for an hour. A
// key that is taken stays.
func TestMasterSweepsFreeKeys(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		ended, _ := w.unique(q, "ended", 0)
		removed, _ := w.unique(q, "removed", 0)
		for _, id := range []string{ended, removed} {
			require.NoError(w, q.Cancel(w.Ctx, id))
		}
		w.collect(q, removed)
		taken, _ := w.unique(q, "taken", 0)
		day, _ := w.unique(q, "day", 24*time.Hour)
		require.NoError(w, q.Cancel(w.Ctx, day))
		w.unique(q, "hour", time.Hour)
		for n := range 20 {
			id, _ := w.unique(q, fmt.Sprint(n), 0)
			require.NoError(w, q.Cancel(w.Ctx, id))
		}
		w.unique(q, "garbage", time.Hour)
		for _, p := range keys(w.Server) {
			if strings.HasSuffix(p, "/garbage") {
				require.NoError(w, w.Server.Set(p, []byte("garbage")))
			}
		}
		w.master(nil)
		w.Pass(110 * time.Minute)
		names := func() (out []string) {
			for _, p := range keys(w.Server) {
				out = append(out, p[strings.LastIndexByte(p, '/')+1:])
			}
			return out
		}
		require.ElementsMatch(w, []string{"taken", "day", "hour", "garbage"}, names())
		w.Pass(110 * time.Minute)
		require.ElementsMatch(w, []string{"taken", "day", "garbage"}, names())
		id, isNew := w.unique(q, "taken", 0)
		require.Equal(w, taken, id)
		require.False(w, isNew)
		_, isNew = w.unique(q, "day", 24*time.Hour)
		require.False(w, isNew)
	})
}

// Folders and keys that were deleted by hand are created again; garbage, and a record of a
// newer version, are left alone.
func TestKeysThatWereDamagedByHand(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		for _, at := range []string{"/unique", "/clients", "/admission", "/tasks", ""} {
			w.unique(q, "k"+at, time.Hour)
			require.NoError(w, w.Server.DeleteAll(path+at))
			_, isNew := w.unique(q, "k"+at, time.Hour)
			require.Equal(w, at == "/unique" || at == "", isNew, "%q: without the key, the task is a new one", at)
		}
		_, isNew := w.unique(q, "k", 0)
		require.False(w, isNew)
		for _, bad := range []string{"", "garbage", `{"format":2}`} {
			require.NoError(w, w.Server.Set(keys(w.Server)[0], []byte(bad)))
			_, _, err := q.SubmitUnique(w.Ctx, dispatch.Task{}, "k", 0)
			require.ErrorIs(w, err, dispatch.ErrRecord)
			require.ErrorContains(w, err, keys(w.Server)[0])
		}
		for _, x := range []struct {
			key    string
			period time.Duration
		}{{"", 0}, {strings.Repeat("x", 513), 0}, {"\xff", 0}, {"k", -1}, {"k", time.Millisecond}} {
			_, _, err := q.SubmitUnique(w.Ctx, dispatch.Task{}, x.key, x.period)
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		}
	})
}

// A full queue takes no new unique task, and finds an existing one.
func TestUniqueTaskOfAFullQueue(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(&dispatch.Options{MaxTasks: 2})
		q := w.queue()
		first, _ := w.unique(q, "k", 0)
		_, _ = w.unique(q, "l", 0)
		w.Settle()
		_, _, err := q.SubmitUnique(w.Ctx, dispatch.Task{}, "m", 0)
		require.ErrorIs(w, err, dispatch.ErrFull)
		again, isNew := w.unique(q, "k", 0)
		require.Equal(w, first, again)
		require.False(w, isNew)
		require.Len(w, keys(w.Server), 2)
	})
}

// Task.ID and the key are independent.
func TestUniqueTaskWithAnID(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		one := dispatch.Task{ID: "one", Payload: []byte("x")}
		id, isNew, err := q.SubmitUnique(w.Ctx, one, "k", 0)
		require.NoError(w, err)
		require.Equal(w, "one", id)
		require.True(w, isNew)
		id, isNew, err = q.SubmitUnique(w.Ctx, one, "l", 0)
		require.NoError(w, err)
		require.Equal(w, "one", id)
		require.False(w, isNew, "the ID exists")
		_, _, err = q.SubmitUnique(w.Ctx, dispatch.Task{ID: "one"}, "k", 0)
		require.ErrorIs(w, err, dispatch.ErrConflict)
		require.Len(w, keys(w.Server), 1)
	})
}

// The key tells the outcome of a lost reply, even if the task has ended and is gone.
func TestUniqueTaskThatHasEndedBeforeItsReply(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(echo, nil)
		q, other := w.queue(), w.queue()
		w.unique(q, "first", time.Hour) // the folders, and the servers' time
		w.collect(other, w.ids(other)[0])
		w.makeBuckets()
		lost := w.Server.FailNth(func(r zktest.Request) bool {
			return r.Op == "multi" && slices.ContainsFunc(r.Paths, func(p string) bool { return strings.HasSuffix(p, "/k") })
		}, 1, zktest.Action{Do: zktest.DropReplyHole})
		defer lost()
		type answer struct {
			id    string
			isNew bool
			err   error
		}
		done := make(chan answer, 1)
		// Waited for below; ends with the call.
		go func() {
			id, isNew, err := q.SubmitUnique(w.Within(5*time.Minute), dispatch.Task{}, "k", time.Hour)
			done <- answer{id, isNew, err}
		}()
		w.Pass(time.Second)
		made := w.ids(other)
		require.Len(w, made, 1)
		w.collect(other, made[0])
		a := <-done
		require.NoError(w, a.err)
		require.Equal(w, made[0], a.id)
		require.True(w, a.isNew)
		w.Pass(time.Minute)
		require.Empty(w, w.ids(other))
	})
}

// makeBuckets makes the buckets of all tasks and keys, since ids are random.
func (w *World) makeBuckets() {
	for n := range 256 {
		for _, dir := range []string{"tasks", "data", "results", "unique"} {
			_ = w.Server.Create(fmt.Sprintf("%s/%s/%02x", path, dir, n), nil)
		}
	}
}

// ids are the ids of all tasks.
func (w *World) ids(q *dispatch.Queue) (out []string) {
	w.Helper()
	list, err := q.List(w.Within(time.Minute))
	require.NoError(w, err)
	for _, in := range list {
		out = append(out, in.ID)
	}
	return out
}

// A new unique task takes one request, as any task; a key that exists takes more: the key and its
// bucket are read in one round trip.
func TestRequestsOfUniqueTasks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		c := w.Client()
		q := dispatch.New(c, path, nil)
		w.unique(q, "k", 0)
		w.makeBuckets()
		var id string
		require.Equal(w, map[string]int{"sync": 2, "getData": 3, "multi": 1}, w.counts(c, func() { id, _ = w.unique(q, "k", 0) }), "taken")
		require.NoError(w, q.Cancel(w.Ctx, id))
		replaced := w.counts(c, func() { id, _ = w.unique(q, "k", 0) })
		require.Equal(w, map[string]int{"sync": 2, "getData": 3, "multi": 2}, replaced, "the former task has ended")
		require.NoError(w, w.Server.Delete(keys(w.Server)[0]))
		require.Equal(w, map[string]int{"multi": 1}, w.counts(c, func() { id, _ = w.unique(q, "k", 0) }), "new")
		w.unique(q, "p", time.Hour)
		require.Equal(w, map[string]int{"sync": 1, "getData": 2, "multi": 1}, w.counts(c, func() { w.unique(q, "p", time.Hour) }), "taken for a period")
		require.NoError(w, q.Cancel(w.Ctx, id))
		require.Equal(w, map[string]int{"getData": 3, "multi": 1}, w.counts(c, func() { require.NoError(w, q.Requeue(w.Ctx, id)) }))
	})
}

// A submission whose context ends says that its outcome is unknown, or submits nothing.
func TestUniqueTaskOfAnEndedCall(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ctx, cancel := context.WithCancel(w.Ctx)
		cancel()
		_, _, err := w.queue().SubmitUnique(ctx, dispatch.Task{}, "k", 0)
		require.ErrorIs(w, err, context.Canceled)
		c, events := w.ClientObserved(world.IsUnknown) // c2
		q := dispatch.New(c, path, nil)
		w.unique(q, "first", 0)
		w.Server.BlackHole(linkOf(2), zktest.ToClient)
		_, _, err = q.SubmitUnique(w.Within(time.Second), dispatch.Task{}, "k", 0)
		require.True(w, errors.Is(err, session.ErrUnknownOutcome), "%v", err)
		w.ToldUnknown(events, "tasks", path, "submit to", err)
		w.Server.Heal()
		world.Pause(time.Minute)
	})
}
