package workerctl_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// states collects the elements of j.States as "state joined/left/failed of
// workers", and the error of the last element.
func (w *World) states(j *workerctl.Job) (told *[]string, over <-chan result) {
	told = &[]string{}
	return told, w.beside(func(ctx context.Context) (int64, error) {
		for in, err := range j.States(ctx) {
			if err != nil {
				return 0, err
			}
			*told = append(*told, fmt.Sprintf("%s %d/%d/%d of %d", in.State, in.Joined, in.Left, in.Failed, in.Workers))
		}
		return 0, nil
	})
}

func TestStatesTellEachChangeAndTheEnd(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		told, over := w.states(w.attach(w.Client()))
		w.Settle()
		k := w.join(j, nth(0))
		w.Settle()
		require.NoError(w, w.Server.ExpireSession(k.Session().ID()))
		w.Pass(time.Minute)
		w.pending(over)
		require.NoError(w, j.Scale(w.Ctx, 3))
		w.Settle()
		require.NoError(w, j.Scale(w.Ctx, 1))
		w.Settle()
		k = w.join(j, nth(0))
		w.Settle()
		require.NoError(w, k.Fail(w.Ctx, "disk full"))
		require.NoError(w, (<-over).err)
		require.Equal(w, []string{
			"submitted 0/0/0 of 2", "running 1/0/0 of 2", "running 1/0/0 of 3", "running 1/0/0 of 1", "running 1/0/0 of 1",
			"failed 1/1/1 of 1",
		}, *told)

		// Later the end is all there is.
		told, over = w.states(j)
		require.NoError(w, (<-over).err)
		require.Equal(w, []string{"failed 1/1/1 of 1"}, *told)
		require.NoError(w, w.Server.DeleteAll(root+"/.ended"))
		_, over = w.states(j)
		require.ErrorIs(w, (<-over).err, workerctl.ErrOver)
	})
}

func TestStatesEndWithTheirContextOrTheirReader(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		n := 0
		for in, err := range j.States(ctx) {
			if n++; n == 1 {
				require.EqualValues(w, "submitted", in.State)
				cancel()
				continue
			}
			require.ErrorIs(w, err, context.Canceled)
		}
		require.Equal(w, 2, n)
		for _, err := range j.States(ctx) {
			require.ErrorIs(w, err, context.Canceled)
		}
		for range j.States(w.Ctx) {
			break
		}
		w.Settle()
		w.RequireNoWatches()
	})
}

// A reader that follows a job learns how the job ended, also if the job is removed long
// before the replies arrive.
func TestEndOfAJobIsNeverMissedHoweverSlowTheAnswers(t *testing.T) {
	for state, end := range endings() {
		t.Run(string(state), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				j := w.submit(w.Client(), 2)
				slow, err := workerctl.Attach(w.Ctx, w.Client(), "words", &workerctl.Options{JoinWait: -1})
				require.NoError(w, err)
				told, over := w.states(slow)
				joined := w.waitAll(slow)
				var out workerctl.Info
				ended := w.beside(func(ctx context.Context) (_ int64, err error) {
					out, err = slow.Wait(ctx)
					return 0, err
				})
				w.Server.Delay(linkOf(2), zktest.ToClient, 3*time.Second)
				w.Server.Delay(linkOf(2), zktest.ToServer, 2*time.Second)
				k := w.join(w.attach(w.Client()), nth(0))
				end(w, j, k)
				w.removed()
				require.NoError(w, (<-over).err)
				require.NoError(w, (<-ended).err)
				require.Equal(w, state, out.State)
				counts := map[workerctl.State]string{"finished": "2/2/0", "failed": "2/2/1", "killed": "1/0/0", "abandoned": "1/0/0"}
				require.Equal(w, string(state)+" "+counts[state]+" of 2", (*told)[len(*told)-1])
				if err := (<-joined).err; state == "finished" || state == "failed" {
					require.NoError(w, err, "all had joined")
				} else {
					require.ErrorIs(w, err, workerctl.ErrOver)
				}
			})
		})
	}
}

func TestWaitNamesTheWorkersThatHaveNotLeft(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 5)
		crew := w.crew(4)
		w.leave(crew[0])
		require.NoError(w, crew[1].Fail(w.Ctx, "disk full"))
		require.NoError(w, w.Server.ExpireSession(crew[2].Session().ID()))
		began := time.Now()
		_, err := j.Wait(w.Within(time.Minute))
		require.Equal(w, time.Minute, time.Since(began))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		m := w.missing(err)
		require.Equal(w, []int{2, 3, 4}, m.IDs)
		require.Equal(w, []int{2}, m.Dead)
		require.Equal(w, 5, m.Workers)
		require.Empty(w, append(m.Failed, m.Left...), "they have left")
	})
}

// With Options.FailFast, Wait and WaitAll end when a worker has died or failed, unless
// the job ends by that.
func TestFailFastEndsTheWaitForTheJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		attach := func() *workerctl.Job {
			fast, err := workerctl.Attach(w.Ctx, w.Client(), "words", &workerctl.Options{FailFast: true})
			require.NoError(w, err)
			return fast
		}
		wait := func() <-chan result {
			fast := attach()
			return w.beside(func(ctx context.Context) (int64, error) { _, err := fast.Wait(ctx); return 0, err })
		}
		ended, joined := wait(), w.waitAll(attach())
		crew := w.crew(2)
		w.Pass(time.Second)
		w.pending(ended)
		w.pending(joined)
		require.NoError(w, w.Server.ExpireSession(crew[0].Session().ID()))
		for _, out := range []<-chan result{ended, joined} {
			err := (<-out).err
			w.faulty(err)
			require.Equal(w, []int{0}, w.missing(err).Dead)
		}
		crew[0] = w.join(j, nth(0))
		ended, joined = wait(), w.waitAll(attach())
		require.NoError(w, crew[1].Fail(w.Ctx, "disk full"))
		for _, out := range []<-chan result{ended, joined} {
			err := (<-out).err
			w.faulty(err)
			require.Equal(w, map[int]string{1: "disk full"}, w.missing(err).Failures)
		}
		crew[1] = w.join(j, nth(1))
		w.leave(crew[1])
		w.leave(crew[0])
		last := w.join(j, nth(2))
		require.NoError(w, attach().WaitAll(w.Ctx), "all have joined")
		fast := attach()
		var out workerctl.Info
		ended = w.beside(func(ctx context.Context) (_ int64, err error) {
			out, err = fast.Wait(ctx)
			return 0, err
		})
		require.NoError(w, last.Fail(w.Ctx, "disk full"))
		require.NoError(w, (<-ended).err)
		require.EqualValues(w, "failed", out.State)
	})
}
