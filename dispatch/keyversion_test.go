package dispatch

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// submitUnique submits a unique task.
func submitUnique(w *world.World, q *Queue, period time.Duration) (id string, isNew bool) {
	w.Helper()
	id, isNew, err := q.SubmitUnique(w.Within(2*time.Minute), Task{}, "k", period)
	require.NoError(w, err)
	return id, isNew
}

// sweep deletes the key, as the master does.
func sweep(w *world.World, m *mastership) {
	w.Helper()
	found, err := m.sweepKeys(w.Within(2*time.Minute), bucketNumber("k"))
	require.NoError(w, err)
	require.Equal(w, 1, found)
}

// touchesKey reports whether r is a transaction about the key.
func (l layout) touchesKey(r zktest.Request) bool {
	return r.Op == "multi" && slices.Contains(r.Paths, l.keyPath("k"))
}

// The reply to the deletion of a free key is lost, and the key is taken before the master is
// connected again: the key stays, although its znode has the version of the deleted one.
func TestKeyThatIsTakenBeforeTheReplyToItsDeletionStays(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		m := leading(w)
		q := New(w.Client(), "/queue", nil)
		id, _ := submitUnique(w, q, 0)
		require.NoError(w, q.Cancel(w.Ctx, id))
		w.Server.FailNth(m.touchesKey, 1, zktest.Action{Do: zktest.DropReplyHole})
		done := make(chan error, 1)
		// Waited for below; ends with the sweep.
		go func() {
			_, err := m.sweepKeys(w.Within(2*time.Minute), bucketNumber("k"))
			done <- err
		}()
		w.Pass(time.Second)
		second, isNew := submitUnique(w, q, 0)
		require.True(w, isNew)
		require.NoError(w, <-done)
		again, isNew := submitUnique(w, q, 0)
		require.Equal(w, second, again)
		require.False(w, isNew)
	})
}

// A client reads a key that is free. Before it replaces the key, the master deletes the key, and
// another client takes it, so that the znode has the version that the first client has read. The
// key stays with the task of the second client.
func TestKeyThatIsDeletedAndTakenMeanwhileIsNotReplaced(t *testing.T) {
	for name, x := range map[string]struct {
		period time.Duration
		wait   time.Duration // until the key is free
		call   func(w *world.World, q *Queue, first string) (id string, err error)
		err    error
	}{
		"submission": {0, 0, func(w *world.World, q *Queue, _ string) (string, error) {
			id, _, err := q.SubmitUnique(w.Within(time.Minute), Task{}, "k", 0)
			return id, err
		}, nil},
		"submission with a period": {time.Hour, 130 * time.Minute, func(w *world.World, q *Queue, _ string) (string, error) {
			id, _, err := q.SubmitUnique(w.Within(time.Minute), Task{}, "k", time.Hour)
			return id, err
		}, nil},
		"requeue": {0, 0, func(w *world.World, q *Queue, first string) (string, error) {
			return "", q.Requeue(w.Within(time.Minute), first)
		}, ErrState},
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				slow := New(w.Client(), "/queue", nil) // c1
				m := leading(w)
				q := New(w.Client(), "/queue", nil)
				first, _ := submitUnique(w, q, x.period)
				require.NoError(w, q.Cancel(w.Ctx, first))
				w.Pass(x.wait)
				w.Once(func(r zktest.Request) bool { return r.Client == "c1" && r.Op == "getData" && r.Path == m.keyPath("k") }, func() {
					w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToServer, 2*time.Second)
				})
				var id string
				done := make(chan error, 1)
				// Waited for below; ends with the call.
				go func() {
					var err error
					id, err = x.call(w, slow, first)
					done <- err
				}()
				w.Pass(100 * time.Millisecond)
				sweep(w, m)
				second, isNew := submitUnique(w, q, x.period)
				require.True(w, isNew)
				err := <-done
				require.ErrorIs(w, err, x.err)
				if x.err == nil {
					require.Equal(w, second, id)
				}
				w.Server.Heal()
				again, isNew := submitUnique(w, slow, x.period)
				require.Equal(w, second, again)
				require.False(w, isNew)
			})
		})
	}
}

// A client reads a key that is free, and the ensemble is created again empty before the client
// replaces the key: the key of a task in the new ensemble stays with that task, although it has
// the version that the client has read.
func TestKeyOfAnotherEnsembleIsNotReplaced(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		slow, q := New(w.Client(), "/queue", nil), New(w.Client(), "/queue", nil) // c1, c2
		submitUnique(w, q, time.Hour)
		w.Pass(time.Hour)
		hasRead, cut := false, false
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			hasRead = hasRead || r.Client == "c1" && r.Op == "getData" && r.Path == slow.keyPath("k")
			if cut || !hasRead || r.Client != "c1" || !slow.touchesKey(r) {
				return zktest.Action{}
			}
			cut = true
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			return zktest.Action{Do: zktest.CutBefore}
		})
		var id string
		done := make(chan error, 1)
		// Waited for below; ends with the call.
		go func() {
			var err error
			id, _, err = slow.SubmitUnique(w.Within(10*time.Minute), Task{}, "k", time.Hour)
			done <- err
		}()
		w.Pass(time.Second)
		require.NoError(w, w.Server.RestartEmpty())
		w.Pass(time.Minute)
		second, isNew := submitUnique(w, q, time.Hour)
		require.True(w, isNew)
		w.Server.Heal()
		require.NoError(w, <-done)
		require.Equal(w, second, id)
		again, isNew := submitUnique(w, q, time.Hour)
		require.Equal(w, second, again)
		require.False(w, isNew)
	})
}
