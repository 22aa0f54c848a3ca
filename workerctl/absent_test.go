package workerctl_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// missing is the MissingError in err.
func (w *World) missing(err error) *workerctl.MissingError {
	w.Helper()
	var out *workerctl.MissingError
	require.ErrorAs(w, err, &out)
	return out
}

// Workers that give up at the same moment do not name each other. The error
// distinguishes dead, failed and left workers from workers that are only late.
func TestBarrierNamesTheMissingWorkers_T27(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 7)
		crew := w.crew(6)
		outs := []<-chan result{w.barrier(crew[0], "b"), w.barrier(crew[1], "b"), w.phase(crew[0], "p"), w.phase(crew[1], "p")}
		require.NoError(w, w.Server.ExpireSession(crew[2].Session().ID()))
		require.NoError(w, crew[3].Fail(w.Ctx, "disk full"))
		w.leave(crew[4])
		for _, out := range outs {
			err := (<-out).err
			require.ErrorIs(w, err, context.DeadlineExceeded)
			m := w.missing(err)
			require.Equal(w, []int{2, 3, 4, 5, 6}, m.IDs)
			require.Equal(w, []int{2}, m.Dead)
			require.Equal(w, []int{3}, m.Failed)
			require.Equal(w, map[int]string{3: "disk full"}, m.Failures)
			require.Equal(w, []int{4}, m.Left)
			require.ErrorContains(w, err, "5 of 7 workers are missing (2-6; dead: 2; failed: 3; left: 4; 3 failed: \"disk full\")")
		}
	})
}

// A worker that died while waiting, before the others gave up, is missing.
func TestBarrierNamesWorkersThatDiedWhileWaiting(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		crew := w.crew(3)
		dies, out := w.barrier(crew[1], "b"), w.barrier(crew[0], "b")
		w.Pass(97 * time.Second) // the others have noticed the death
		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		require.ErrorIs(w, (<-dies).err, session.ErrLost)
		m := w.missing((<-out).err)
		require.Equal(w, []int{1, 2}, m.IDs)
		require.Equal(w, []int{1}, m.Dead)
	})
}

// faulty wants a wait to have ended since a worker has died or failed.
func (w *World) faulty(err error) {
	w.Helper()
	require.NotErrorIs(w, err, context.DeadlineExceeded)
	require.ErrorContains(w, w.missing(err), "a worker has died or failed")
}

// failFast attaches to the job with Options.FailFast and joins.
func (w *World) failFast(n int) *workerctl.Worker {
	w.Helper()
	j, err := workerctl.Attach(w.Ctx, w.Client(), "words", &workerctl.Options{FailFast: true})
	require.NoError(w, err)
	return w.join(j, nth(n))
}

func TestFailFastEndsWaitsWhenAWorkerDiesOrFails(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 5)
		a, b, c, d := w.failFast(0), w.failFast(1), w.failFast(2), w.failFast(3)
		w.leave(d) // the worker has finished its part
		outs := []<-chan result{w.barrier(a, "b"), w.phase(a, "p"), w.barrier(b, "b")}
		w.Pass(time.Second)
		e := w.failFast(4)
		w.leave(e)
		w.Pass(time.Second)
		for _, out := range outs {
			w.pending(out)
		}
		began := time.Now()
		require.NoError(w, w.Server.ExpireSession(c.Session().ID()))
		for _, out := range outs {
			r := <-out
			w.faulty(r.err)
			require.Less(w, r.at.Sub(began), time.Second)
			m := w.missing(r.err)
			require.Equal(w, []int{2}, m.IDs)
			require.Equal(w, []int{2}, m.Dead)
		}
		// A fault before the wait ends the wait too, until the worker has come
		// back.
		_, err := a.Barrier(w.Ctx, "b")
		w.faulty(err)
		c = w.failFast(2)
		out := w.barrier(a, "b")
		w.Pass(time.Second)
		w.pending(out)
		require.NoError(w, c.Fail(w.Ctx, "disk full"))
		err = (<-out).err
		w.faulty(err)
		require.Equal(w, []int{2}, w.missing(err).Failed)
	})
}

// A phase that is over stays over, even if a worker dies afterwards.
func TestFailFastPassesAPhaseThatIsOver(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		a, b := w.failFast(0), w.failFast(1)
		w.passed(0, w.phase(a, "p"), w.phase(b, "p"))
		require.NoError(w, w.Server.ExpireSession(b.Session().ID()))
		w.Settle()
		require.NoError(w, a.Phase(w.Ctx, "p"))
		w.faulty(a.Phase(w.Ctx, "q"))
	})
}

// Waits name the znode that an operator has deleted, since the job is not over.
func TestWaitsNameWhatIsMissingInAJobThatRuns(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		k := w.crew(1)[0]
		before := w.barrier(k, "b")
		require.NoError(w, w.Server.DeleteAll(runOf(k)+"/barriers"))
		_, err := k.Barrier(w.Within(time.Minute), "c")
		require.ErrorIs(w, err, workerctl.ErrRecord)
		require.ErrorContains(w, err, runOf(k)+"/barriers was deleted")
		require.NotErrorIs(w, (<-before).err, workerctl.ErrOver)
		err = k.Phase(w.Within(time.Minute), "p")
		require.ErrorIs(w, err, workerctl.ErrRecord)
		require.NotErrorIs(w, err, workerctl.ErrOver)
		require.NoError(w, j.Kill(w.Ctx))
		w.removed()
	})
}

// The job's size is created again after an operator has deleted the znode.
func TestSizeThatWasDeletedIsRestored(t *testing.T) {
	for name, use := range map[string]func(w *World, crew []*workerctl.Worker, waits <-chan result){
		"Barrier": func(w *World, crew []*workerctl.Worker, waits <-chan result) {
			w.passed(1, waits, w.barrier(crew[1], "b"))
		},
		"Kill": func(w *World, crew []*workerctl.Worker, _ <-chan result) {
			require.NoError(w, crew[0].Job().Kill(w.Ctx))
		},
		"Scale": func(w *World, crew []*workerctl.Worker, waits <-chan result) {
			require.NoError(w, crew[1].Job().Scale(w.Ctx, 3))
			w.passed(1, waits, w.barrier(crew[1], "b"), w.barrier(w.join(crew[1].Job(), nth(2)), "b"))
		},
		"Leave": func(w *World, crew []*workerctl.Worker, _ <-chan result) {
			w.leave(crew[0])
			w.leave(crew[1])
			w.removed()
		},
		"Janitor": func(w *World, crew []*workerctl.Worker, _ <-chan result) {
			for _, k := range crew {
				require.NoError(w, w.Server.ExpireSession(k.Session().ID()))
			}
			n := workerctl.NewJanitor(w.Client(), &workerctl.Options{Abandoned: time.Second})
			_, err := n.Sweep(w.Ctx)
			require.NoError(w, err)
			w.Pass(2 * time.Second)
			_, err = n.Sweep(w.Ctx)
			require.NoError(w, err)
			w.removed()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.submit(w.Client(), 2)
				crew := w.crew(2)
				var waits <-chan result
				if name == "Barrier" || name == "Scale" {
					waits = w.barrier(crew[0], "b")
				}
				require.NoError(w, w.Server.Delete(runOf(crew[0])+"/size"))
				use(w, crew, waits)
			})
		})
	}
}
