package workerctl_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func (w *World) waitAll(j *workerctl.Job) <-chan result {
	return w.beside(func(ctx context.Context) (int64, error) { return 0, j.WaitAll(ctx) })
}

func (w *World) barrier(k *workerctl.Worker, name string) <-chan result {
	return w.beside(func(ctx context.Context) (int64, error) { return k.Barrier(ctx, name) })
}

func (w *World) phase(k *workerctl.Worker, name string) <-chan result {
	return w.beside(func(ctx context.Context) (int64, error) { return 0, k.Phase(ctx, name) })
}

// passed wants all of outs to have passed in round.
func (w *World) passed(round int64, outs ...<-chan result) {
	w.Helper()
	for _, out := range outs {
		select {
		case r := <-out:
			require.NoError(w, r.err)
			require.Equal(w, round, r.round)
		case <-time.After(30 * time.Second):
			w.Fatalf("no worker passed")
		}
	}
}

func TestWaitAllEndsWhenTheLastHasJoined_T3_T26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 4)
		crew := w.crew(3)
		var outs []<-chan result
		for _, k := range crew {
			outs = append(outs, w.waitAll(k.Job()))
		}
		w.Pass(10 * time.Second)
		// Also when workers have died or left meanwhile.
		w.leave(crew[2])
		for _, out := range outs {
			w.pending(out)
		}
		last := w.join(w.attach(w.Client()), nth(3))
		w.passed(0, append(outs, w.waitAll(last.Job()))...)
		// T26: the list is available at once.
		all, err := last.Job().Members(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 4)
	})
}

func TestWaitAllNamesTheMissingWorkers_T26_T27(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 5)
		k := w.crew(2)[1]
		began := time.Now()
		err := k.Job().WaitAll(w.Ctx)
		require.Equal(w, 100*time.Second, time.Since(began), "Twister2's limit")
		var missing *workerctl.MissingError
		require.ErrorAs(w, err, &missing)
		require.Equal(w, []int{2, 3, 4}, missing.IDs)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "3 of 5 workers are missing (2-4)")
		err = k.Job().WaitAll(w.Within(time.Second))
		require.ErrorAs(w, err, &missing)
	})
}

func TestWaitAllEndsWithTheJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 5)
		out := w.waitAll(w.attach(w.Client()))
		require.NoError(w, j.Kill(w.Ctx))
		require.ErrorIs(w, (<-out).err, workerctl.ErrOver)
	})
}

// Only the last worker wakes the others.
func TestWaitAllCostsTheSameHoweverManyJoin(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 40)
		waiter := w.Client()
		j := w.attach(waiter)
		w.ResetStats()
		out := w.waitAll(j)
		crew := w.crew(39)
		require.Equal(w, 4, w.Requests(waiter), "a check, two exists, state")
		w.join(crew[0].Job(), nth(39))
		w.passed(0, out)
		counts := w.Server.Stats().BySession[w.ID(waiter)]
		delete(counts, "removeWatches") // behind its back
		require.Equal(w, map[string]int{"multi": 2, "exists": 4, "getData": 2}, counts)
	})
}

func TestBarrierIsForAllWorkersAndForAnyNumberOfRounds_T4_T21_T22(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		crew := w.crew(3)
		for round := range int64(20) {
			a, b := w.barrier(crew[0], "step/ä"), w.barrier(crew[1], "step/ä")
			w.Pass(time.Second)
			w.pending(a)
			w.pending(b)
			w.passed(round+1, a, b, w.barrier(crew[2], "step/ä"))
		}
	})
}

// W9: a worker that has given up or died is not counted, in this round or
// later, and a restart does not count twice. W10: no worker waits for a round
// that has passed already.
func TestBarrierCountsOnlyWaitingWorkers_W9_W10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		crew := w.crew(3)
		_, err := crew[0].Barrier(w.Within(5*time.Second), "b")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		dies := w.barrier(crew[1], "b")
		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		require.ErrorIs(w, (<-dies).err, session.ErrLost)
		two := w.barrier(crew[2], "b")
		w.Pass(5 * time.Second)
		w.pending(two)
		again := w.join(w.attach(w.Client()), nth(1))
		second := w.barrier(again, "b")
		w.Pass(5 * time.Second)
		w.pending(second)
		w.passed(1, two, second, w.barrier(crew[0], "b"))

		// Restarted while its former process, which waits, seems to live.
		elder := w.barrier(again, "b")
		younger := w.join(w.attach(w.Client()), nth(1))
		require.Error(w, (<-elder).err)
		a, b := w.barrier(younger, "b"), w.barrier(crew[0], "b")
		w.Pass(5 * time.Second)
		w.pending(a)
		w.passed(2, a, b, w.barrier(crew[2], "b"))
	})
}

func TestBarrierErrorNamesTheMissingWorkers_T27(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 5)
		crew := w.crew(4)
		other := w.barrier(crew[1], "b")
		began := time.Now()
		_, err := crew[3].Barrier(w.Ctx, "b")
		require.WithinDuration(w, began.Add(100*time.Second), time.Now(), 2*time.Second)
		var missing *workerctl.MissingError
		require.ErrorAs(w, err, &missing)
		require.Subset(w, []int{0, 1, 2, 4}, missing.IDs)
		require.Subset(w, missing.IDs, []int{0, 2, 4})
		require.Error(w, (<-other).err)
	})
}

func TestPhaseIsOverForARestartedWorker(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		crew := w.crew(3)
		a, b := w.phase(crew[0], "map"), w.phase(crew[1], "map")
		w.Pass(time.Second)
		w.pending(a)
		w.passed(0, a, b, w.phase(crew[2], "map"))

		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		back := w.join(w.attach(w.Client()), nth(1))
		require.NoError(w, back.Phase(w.Ctx, "map"), "at once")
		reduce := w.phase(back, "reduce")
		w.pending(reduce)
		w.passed(0, reduce, w.phase(crew[0], "reduce"), w.phase(crew[2], "reduce"))
		// A barrier of the same name is something else.
		out := w.barrier(back, "map")
		w.pending(out)
		require.NoError(w, j.Kill(w.Ctx))
		require.Error(w, (<-out).err)
	})
}

func TestWaitingEndsWhenTheJobIsKilled(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		crew := w.crew(2)
		a, b := w.barrier(crew[0], "b"), w.phase(crew[1], "p")
		w.Pass(time.Minute)
		require.NoError(w, j.Kill(w.Ctx))
		for _, out := range []<-chan result{a, b} {
			require.ErrorIs(w, (<-out).err, session.ErrLost)
		}
		w.Pass(time.Minute)
		w.removed()
	})
}

func TestJobThatGrowsWaitsForTheNewWorkers(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		crew := w.crew(2)
		require.NoError(w, j.WaitAll(w.Ctx))
		a := w.barrier(crew[0], "b")
		p := w.phase(crew[0], "p")
		require.NoError(w, j.Scale(w.Ctx, 3))
		out := w.waitAll(j)
		b := w.barrier(crew[1], "b")
		w.Pass(10 * time.Second)
		w.pending(a)
		w.pending(b)
		w.pending(out)
		c := w.join(j, nth(2))
		w.passed(0, out)
		w.passed(1, a, b, w.barrier(c, "b"))
		w.passed(0, p, w.phase(crew[1], "p"), w.phase(c, "p"))
	})
}

func TestJobShrinksOnlyByWorkersThatHaveLeft(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			j := w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 5, ReuseIDs: reuse})
			crew := w.crew(4)
			w.leave(crew[3])
			require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
			var in *workerctl.InUseError
			require.ErrorAs(w, j.Scale(w.Ctx, 1), &in)
			require.Equal(w, []int{1, 2}, in.IDs, "also a dead worker: it may come back")
			require.Equal(w, 5, w.info(j).Workers, "nothing was changed")

			require.NoError(w, j.Scale(w.Ctx, 3))
			got := w.info(j)
			require.Equal(w, []int{3, 3, 0}, []int{got.Workers, got.Joined, got.Left})
			require.NoError(w, j.WaitAll(w.Within(time.Second)))
			_, err := j.Join(w.Ctx, nth(3))
			require.ErrorIs(w, err, workerctl.ErrFull, "its id is gone")
			require.NoError(w, j.Scale(w.Ctx, 4))
			require.ErrorIs(w, j.WaitAll(w.Within(time.Second)), context.DeadlineExceeded)
			require.Equal(w, 3, w.join(j, named("new")).ID())

			require.ErrorIs(w, j.Scale(w.Ctx, 0), workerctl.ErrInvalidArgument)
			require.NoError(w, j.Kill(w.Ctx))
			require.ErrorIs(w, j.Scale(w.Ctx, 9), workerctl.ErrOver)
		})
	}
}

func TestShrinkingCanFinishAJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		for _, k := range w.crew(2) {
			w.leave(k)
		}
		require.EqualValues(w, "running", w.info(j).State)
		require.NoError(w, j.Scale(w.Ctx, 2))
		w.removed()
	})
}

func TestShrinkingByThousandsGoesInSteps(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 1201)
		k := w.join(j, named("stays"))
		for i := range 1200 {
			w.leave(w.join(j, named(fmt.Sprint(i))))
		}
		require.NoError(w, j.Scale(w.Ctx, 1))
		in := w.info(j)
		require.Equal(w, []int{1, 1, 0, 1}, []int{in.Workers, in.Joined, in.Left, in.Running})
		w.leave(k)
		w.removed()
	})
}

// A worker that comes to a barrier after the job has grown waits for the new workers, also
// through a server that does not show the new number yet.
func TestWorkerThatComesAfterwardsKnowsTheNewNumber(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		leader := w.Server.Leader()
		behind := leader%3 + 1
		at := func(i int) *session.Client { return w.ClientAt(w.Server.ServerAddr(i), session.Options{}) }
		j := w.submit(at(leader), 2)
		first, second := w.join(j, nth(0)), w.join(w.attach(at(behind)), nth(1))
		a := w.barrier(first, "b")
		w.Settle()
		// Slow, but within the second in which a barrier finds out the outcome
		// for a leaving party.
		w.Server.Delay(zktest.Link{Session: first.Session().ID()}, zktest.ToClient, 200*time.Millisecond)
		require.NoError(w, w.Server.Lag(behind, true))
		require.NoError(w, w.attach(w.ClientAt(w.Server.ServerAddr(leader), session.Options{})).Scale(w.Ctx, 3))
		b := w.barrier(second, "b")
		require.NoError(w, w.Server.Lag(behind, false))
		w.Pass(2 * time.Second)
		w.pending(a)
		w.pending(b)
		w.Server.Heal()
		w.passed(1, a, b, w.barrier(w.join(j, nth(2)), "b"))
	})
}

// A long wait is woken often, without reporting damage.
func TestWaitGoesOnHoweverOftenItIsWoken(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.submit(c, 1)
		j, err := workerctl.Attach(w.Ctx, c, "words", &workerctl.Options{JoinWait: -1})
		require.NoError(w, err)
		out := w.waitAll(j)
		run := path + "/" + w.Children(path)[0]
		for range 2_100 {
			require.NoError(w, w.Server.Set(run+"/size", []byte("1")))
			synctest.Wait()
		}
		w.pending(out)
		w.join(j, nth(0))
		w.passed(0, out)
	})
}

// A wait ends with its context even if no server is reachable; the missing
// workers are then unknown.
func TestWaitEndsWithItsContextWithoutAServer(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		k := w.crew(1)[0]
		waits := map[string]func(ctx context.Context) error{
			"WaitAll": j.WaitAll,
			"Barrier": func(ctx context.Context) error { _, err := k.Barrier(ctx, "b"); return err },
		}
		longer := map[string]time.Duration{"Barrier": time.Second} // Barrier checks whether the worker has passed
		for name, wait := range waits {
			began := time.Now()
			out := w.besideUnsettled(func(context.Context) (int64, error) { return 0, wait(w.Within(3 * time.Second)) })
			w.Pass(time.Second)
			require.NoError(w, w.Server.Stop(1))
			r := <-out
			require.ErrorIs(w, r.err, context.DeadlineExceeded, name)
			require.LessOrEqual(w, r.at.Sub(began), 3*time.Second+longer[name], name)
			require.NoError(w, w.Server.Restart(1))
			w.Pass(3 * time.Second)
		}
	})
}
