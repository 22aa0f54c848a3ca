package dispatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A master that changes the capacity of the queue keeps the fields added by a
// newer version, and does not change records of a newer format.
func TestAdmissionOfANewerVersionIsKept(t *testing.T) {
	const at = path + "/admission"
	for name, c := range map[string]struct{ data, want string }{
		"unknown fields": {`{"format":1,"maxTasks":7,"quota":{"a":1.5}}`, `{"format":1,"maxTasks":9,"quota":{"a":1.5}}`},
		"garbage":        {`x`, `{"format":1,"maxTasks":9}`},
		"a newer format": {`{"format":2,"maxTasks":[7]}`, ""},
	} {
		for when, running := range map[string]bool{"before": false, "meanwhile": true} {
			t.Run(name+", "+when, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					w.submit(w.queue(), dispatch.Task{ID: "x"})
					var m *role
					if running {
						m = w.master(&dispatch.Options{MaxTasks: 9})
						w.Settle()
					}
					require.NoError(w, w.Server.Set(at, []byte(c.data)))
					if !running {
						m = w.master(&dispatch.Options{MaxTasks: 9})
					}
					w.Pass(time.Minute)
					n, err := w.Server.Get(at)
					require.NoError(w, err)
					if c.want != "" {
						require.JSONEq(w, c.want, string(n.Data))
						require.NoError(w, m.end())
						return
					}
					require.Equal(w, c.data, string(n.Data))
					err = m.end()
					require.ErrorIs(w, err, dispatch.ErrRecord)
					require.ErrorContains(w, err, at+": not a record of this package: the record has format 2")
				})
			})
		}
	}
}

// Garbage in admission closes no queue: a client goes on with the default limit, and a
// master without a limit of its own replaces the garbage.
func TestGarbageInAdmissionClosesNothing(t *testing.T) {
	for _, data := range []string{"garbage", "", `{"format":1,"maxTasks":-5}`} {
		inWorld(t, nil, func(w *World) {
			w.submit(w.queue(), dispatch.Task{ID: "x", Delay: time.Hour})
			require.NoError(w, w.Server.Set(path+"/admission", []byte(data)))
			q := w.queue()
			w.submit(q, dispatch.Task{ID: "y", Delay: time.Hour})
			st, err := q.Stats(w.Ctx)
			require.NoError(w, err)
			require.True(w, st.Open)
			m := w.master(nil)
			w.Pass(time.Minute)
			n, err := w.Server.Get(path + "/admission")
			require.NoError(w, err)
			require.JSONEq(w, fmt.Sprintf(`{"format":1,"maxTasks":%d}`, st.MaxTasks), string(n.Data))
			w.submit(q, dispatch.Task{ID: "z"})
			require.NoError(w, m.end())
		})
	}
}

// A worker whose data cannot be read is shown, with the reason.
func TestStatsShowWorkersThatCannotBeRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x"})
		require.NoError(w, w.Server.Create(path+"/alive/newer", []byte(`{"format":2,"concurrency":1}`)))
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Len(w, st.Workers, 1)
		require.Equal(w, "newer", st.Workers[0].ID)
		require.ErrorIs(w, st.Workers[0].Err, dispatch.ErrRecord)
		require.ErrorContains(w, st.Workers[0].Err, "has format 2")
		require.Equal(w, 1, st.Unmatched, "no worker can take the task")
	})
}

// "open" is deleted after a new master has read it, and before the master's view shows it
// for the first time.
func TestQueueIsOpenedThoughOpenWasDeletedWhileAMasterTookOver(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "first"})
		deleted := false
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if !deleted && r.Path == path+"/admission" && strings.HasPrefix(r.Op, "getChildren") {
				deleted = true
				require.NoError(w, w.Server.Delete(path+"/admission/open"))
			}
			return zktest.Action{}
		})
		w.master(nil)
		w.Pass(time.Second)
		require.True(w, deleted)
		w.submit(q, dispatch.Task{ID: "second"})
	})
}
