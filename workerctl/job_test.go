package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

func TestIDsStartAt0AndIncreaseByOne_T1_T19(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 5)
		for i, k := range w.crew(5) {
			require.Equal(w, i, k.ID())
			require.EqualValues(w, 1, k.Incarnation())
		}
		in := w.info(j)
		require.Equal(w, []int{5, 5, 0, 5}, []int{in.Workers, in.Joined, in.Left, in.Running})
		require.EqualValues(w, "running", in.State)
	})
}

// T1, T18, T19, T24, W2: workers that join concurrently get ids without a gap.
func TestWorkersThatJoinAtOnceGetDifferentIDsWithoutAGap_W2(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const clients, each = 8, 8
		w.submit(w.Client(), clients*each)
		var mu sync.Mutex
		var all sync.WaitGroup
		seen := map[int]string{}
		for i := range clients {
			j := w.attach(w.Client())
			for k := range each {
				// Waited for below; ends with the join.
				all.Go(func() {
					identity := named(fmt.Sprintf("%d/%d", i, k))
					worker := w.join(j, identity)
					mu.Lock()
					defer mu.Unlock()
					seen[worker.ID()] = identity.Name
				})
			}
		}
		all.Wait()
		for id := range clients * each {
			require.Contains(w, seen, id)
		}
		require.Len(w, seen, clients*each)
	})
}

func TestSubmittingARunningNameFails_T6(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 2)
		_, err := workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "words", Workers: 9}, nil)
		require.ErrorIs(w, err, workerctl.ErrRunning, "no worker has joined yet: the job is no leftover")
		k := w.join(j, nth(0))
		_, err = workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "words", Workers: 9}, nil)
		require.ErrorIs(w, err, workerctl.ErrRunning)
		require.NoError(w, k.Context().Err())
		require.Equal(w, j.ID(), w.attach(w.Client()).ID())
		require.Equal(w, 2, w.info(j).Workers)
		// Another name is another job.
		w.submitSpec(c, workerctl.Spec{Name: "other", Workers: 1})
	})
}

// W12: a job between two workers, or all of whose workers are being restarted, is
// not dead.
func TestJobWithoutLiveWorkersIsRunning_W12(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, died := w.Client(), w.Client()
		j := w.submit(c, 2)
		k := w.join(w.attach(died), nth(0))
		w.Expire(died)
		<-k.Context().Done()
		w.Settle()
		require.Zero(w, w.info(j).Running)
		_, err := workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "words", Workers: 9}, nil)
		require.ErrorIs(w, err, workerctl.ErrRunning)
		require.Zero(w, w.join(j, nth(0)).ID())
	})
}

func TestOfSeveralConcurrentSubmissionsOneSucceeds_T12(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var mu sync.Mutex
		var all sync.WaitGroup
		made, joined := 0, map[int]bool{}
		for i := range 5 {
			c := w.Client()
			// Waited for below; ends with the join.
			all.Go(func() {
				j, err := workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "words", Workers: 5}, nil)
				mine := err == nil
				if errors.Is(err, workerctl.ErrRunning) {
					j, err = workerctl.Attach(w.Ctx, c, "words", nil)
				}
				if err != nil {
					w.Error(err)
					return
				}
				k := w.join(j, nth(i))
				mu.Lock()
				defer mu.Unlock()
				if mine {
					made++
				}
				joined[k.ID()] = true
			})
		}
		all.Wait()
		require.Equal(w, 1, made)
		require.Len(w, joined, 5)
	})
}

func TestThereIsNoJobBeforeItIsSubmitted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		_, err := workerctl.Attach(w.Ctx, w.Client(), "words", nil)
		require.ErrorIs(w, err, workerctl.ErrNoJob)
		require.ErrorContains(w, err, path)
	})
}

func TestKilledJobIsRemovedAndItsWorkersAreTold_T17(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 3)
		crew := w.crew(2)
		require.NoError(w, j.Kill(w.Ctx))
		w.removed()
		for _, k := range crew {
			<-k.Context().Done()
			require.ErrorIs(w, context.Cause(k.Context()), session.ErrLost)
			require.ErrorIs(w, k.Leave(w.Ctx), session.ErrLost)
		}
		require.NoError(w, j.Kill(w.Ctx), "once more")
		require.NoError(w, j.Remove(w.Ctx))
		_, err := j.Join(w.Ctx, nth(7))
		require.ErrorIs(w, err, workerctl.ErrOver)
		require.EqualValues(w, "killed", w.info(j).State)
		w.submit(c, 1)
	})
}

func TestRemoveRefusesARunningJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		require.ErrorIs(w, j.Remove(w.Ctx), workerctl.ErrRunning)
	})
}

// W11: all znodes of a job lie in its tree, and are removed with the job; an
// error is not reported as "no job".
func TestErrorIsNotNoJob_W11(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.submit(c, 1)
		require.NoError(w, w.Server.Set(path, []byte("something else")))
		_, err := workerctl.Attach(w.Ctx, c, "words", nil)
		require.ErrorIs(w, err, workerctl.ErrRecord)
		_, err = workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "words", Workers: 1}, nil)
		require.ErrorIs(w, err, workerctl.ErrRecord)
		data, err := w.Server.Get(path)
		require.NoError(w, err)
		require.Equal(w, "something else", string(data.Data), "left alone")

		require.NoError(w, w.Server.Stop(1))
		_, err = workerctl.Attach(w.Within(time.Second), c, "words", nil)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, workerctl.ErrNoJob)
		require.NoError(w, w.Server.Restart(1))
	})
}

// W6: permanent znodes are persistent, not containers, which servers delete
// when empty.
func TestJobStaysHoweverLongItHasNoWorker_W6_T12(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 2)
		k := w.join(w.attach(w.Client()), nth(0))
		require.NoError(w, w.Server.ExpireSession(k.Session().ID()))
		<-k.Context().Done()
		before := len(w.Server.Dump())
		w.Pass(3 * time.Hour)
		for _, n := range w.Server.Dump() {
			require.False(w, n.Container || n.TTL || n.EphemeralOwner != 0, n.Path)
		}
		require.InDelta(w, before, len(w.Server.Dump()), 2, "locks may go")
		require.Zero(w, w.join(j, nth(0)).ID())
		require.Equal(w, 1, w.join(j, nth(1)).ID())
	})
}
