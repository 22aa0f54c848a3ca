package dispatch_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// record is the record of the only task in the queue.
func (w *World) record() (fields map[string]any) {
	w.Helper()
	dir := path + "/tasks/" + w.Children(path + "/tasks")[0]
	n, err := w.Server.Get(dir + "/" + w.Children(dir)[0])
	require.NoError(w, err)
	require.NoError(w, json.Unmarshal(n.Data, &fields))
	return fields
}

// Fields added by a newer version survive every change by this version.
func TestFieldsOfANewerVersionAreKept(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x", Delay: time.Minute})
		w.rewrite(map[string]any{"tenant": map[string]any{"name": "a"}, "weight": 7.5})
		kept := func() {
			w.Helper()
			require.Equal(w, map[string]any{"name": "a"}, w.record()["tenant"])
			require.EqualValues(w, 7.5, w.record()["weight"])
		}
		require.NoError(w, q.Cancel(w.Ctx, "x"))
		kept()
		require.NoError(w, q.Requeue(w.Ctx, "x"))
		kept()
		w.master(nil)
		w.worker(takes(time.Minute), nil)
		w.Pass(10 * time.Second)
		require.Equal(w, "assigned", w.record()["state"])
		kept()
		w.Pass(time.Minute)
		require.Equal(w, "done", w.record()["state"])
		kept()
	})
}

// extend adds a field, as a newer version does, to a record that a znode begins with.
func (w *World) extend(at string) {
	w.Helper()
	n, err := w.Server.Get(at)
	require.NoError(w, err)
	require.Equal(w, byte('{'), n.Data[0])
	require.NoError(w, w.Server.Set(at, append([]byte(`{"tenant":{"name":"a"},`), n.Data[1:]...)))
}

// tenantIn is the field that extend has added.
func (w *World) tenantIn(at string) any {
	w.Helper()
	n, err := w.Server.Get(at)
	require.NoError(w, err)
	var fields map[string]any
	require.NoError(w, json.NewDecoder(bytes.NewReader(n.Data)).Decode(&fields))
	return fields["tenant"]
}

// A repair that has to rewrite a result keeps the fields that it does not know, and the
// output.
func TestRepairedResultKeepsFieldsOfANewerVersion(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		m := w.master(nil)
		w.worker(echo, nil)
		w.submit(q, dispatch.Task{ID: "x", Payload: []byte("out\nput")})
		w.Pass(time.Second)
		require.NoError(w, m.end())
		at := path + "/results/" + w.Children(path + "/tasks")[0] + "/x"
		w.extend(at)
		before, err := w.Server.Get(at)
		require.NoError(w, err)
		w.rewrite(nil) // by hand: the result does not fit the task's version any more
		repaired := 0
		w.Server.OnApply(func(zktest.Txn) {
			if now, err := w.Server.Get(at); err == nil && now.Czxid != before.Czxid {
				require.Equal(w, map[string]any{"name": "a"}, w.tenantIn(at))
				repaired++
			}
		})
		require.Equal(w, "out\nput", string(w.collect(q, "x").Output))
		require.Positive(w, repaired)
	})
}

// A worker that stops keeps the fields that a newer version has added to its
// record.
func TestWorkerThatDrainsKeepsFieldsOfItsRecord(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		k := w.worker(takes(time.Minute), &dispatch.WorkerOptions{Grace: time.Hour})
		w.submit(q, dispatch.Task{ID: "x"})
		w.Pass(time.Second)
		at := path + "/alive/" + w.Children(path + "/alive")[0]
		w.extend(at)
		k.stop()
		w.Pass(time.Second)
		workers, err := q.Workers(w.Ctx)
		require.NoError(w, err)
		require.True(w, workers[0].Draining)
		require.Equal(w, map[string]any{"name": "a"}, w.tenantIn(at))
		w.Pass(2 * time.Minute)
		require.Equal(w, "done", string(w.collect(q, "x").State))
	})
}

// Wait returns an error for a task whose record cannot be read, also if the record was
// written during the wait.
func TestWaitSaysThatARecordCannotBeRead(t *testing.T) {
	for name, changes := range map[string]map[string]any{"a newer format": {"format": 2}, "garbage": {"state": "sleeping"}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				w.submit(q, dispatch.Task{ID: "x"})
				out := make(chan error, 1)
				// Waited for below; ends when the record is read again.
				go func() { _, err := q.Wait(w.Ctx, "x"); out <- err }()
				w.Settle()
				w.rewrite(changes)
				_, err := q.Wait(w.Within(time.Second), "x")
				require.ErrorIs(w, err, dispatch.ErrRecord)
				w.Pass(2 * time.Minute)
				require.ErrorIs(w, <-out, dispatch.ErrRecord)
			})
		})
	}
}

// Tasks whose labels no worker has are counted.
func TestStatsCountTasksThatNoWorkerCanTake(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "gpu", Labels: []string{"gpu"}})
		w.submit(q, dispatch.Task{ID: "both", Labels: []string{"gpu", "big"}})
		unmatched := func() int {
			w.Helper()
			w.Pass(2 * time.Second) // the master publishes the counts at most once a second
			st, err := q.Stats(w.Ctx)
			require.NoError(w, err)
			return st.Unmatched
		}
		require.Equal(w, 2, unmatched())
		w.worker(echo, &dispatch.WorkerOptions{Labels: []string{"big"}})
		require.Equal(w, 2, unmatched())
		w.worker(echo, &dispatch.WorkerOptions{Labels: []string{"gpu"}})
		require.Equal(w, 1, unmatched())
	})
}
