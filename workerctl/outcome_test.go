package workerctl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// endings are the ways in which a job of two workers, one of which has joined, can end.
func endings() map[workerctl.State]func(w *World, j *workerctl.Job, k *workerctl.Worker) {
	second := func(w *World, j *workerctl.Job) *workerctl.Worker { return w.join(j, nth(1)) }
	return map[workerctl.State]func(w *World, j *workerctl.Job, k *workerctl.Worker){
		"finished": func(w *World, j *workerctl.Job, k *workerctl.Worker) { w.leave(second(w, j)); w.leave(k) },
		"failed": func(w *World, j *workerctl.Job, k *workerctl.Worker) {
			require.NoError(w, k.Fail(w.Within(time.Minute), "out of memory"))
			w.leave(second(w, j))
		},
		"killed": func(w *World, j *workerctl.Job, _ *workerctl.Worker) { require.NoError(w, j.Kill(w.Ctx)) },
		"abandoned": func(w *World, j *workerctl.Job, k *workerctl.Worker) {
			require.NoError(w, w.Server.ExpireSession(k.Session().ID()))
			n := workerctl.NewJanitor(w.Client(), nil)
			for range 2 {
				_, err := n.Sweep(w.Ctx)
				require.NoError(w, err)
				w.Pass(11 * time.Minute)
			}
		},
	}
}

// However a job ends, its outcome is reported to waiting callers and to later calls.
func TestEndOfAJobIsKnownAfterItsRemoval(t *testing.T) {
	for state, end := range endings() {
		t.Run(string(state), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				j := w.submit(w.Client(), 2)
				submitted := time.Now()
				watcher := w.attach(w.Client())
				var told workerctl.Info
				waiting := w.beside(func(ctx context.Context) (_ int64, err error) {
					told, err = watcher.Wait(ctx)
					return 0, err
				})
				k := w.join(w.attach(w.Client()), nth(0))
				w.Pass(time.Minute)
				w.pending(waiting)
				_, err := w.lastEnded("words", nil)
				require.ErrorIs(w, err, workerctl.ErrNoJob, "the job has not ended")
				end(w, j, k)
				w.removed()
				require.NoError(w, (<-waiting).err)
				require.Equal(w, state, told.State)
				require.Equal(w, "words", told.Name)
				require.Equal(w, j.ID(), told.ID)
				require.WithinDuration(w, submitted, told.Created, time.Second)
				require.Greater(w, told.Ended.Sub(told.Created), 59*time.Second)
				counts := map[workerctl.State][4]int{"finished": {2, 2, 2, 0}, "failed": {2, 2, 2, 1}, "killed": {2, 1, 0, 0}, "abandoned": {2, 1, 0, 0}}
				require.Equal(w, counts[state], [4]int{told.Workers, told.Joined, told.Left, told.Failed})

				later, err := j.Wait(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, inUTC(told), inUTC(later))
				last, err := w.lastEnded("words", nil)
				require.NoError(w, err)
				require.Equal(w, told.Ended.UTC(), last.Ended.UTC())
				require.Equal(w, [4]int{2, told.Joined, told.Left, told.Failed}, [4]int{last.Workers, last.Joined, last.Left, last.Failed})
				require.Equal(w, state, last.State)
				in := w.info(j)
				require.Equal(w, state, in.State)
				require.Equal(w, [4]int{2, told.Joined, told.Left, told.Failed}, [4]int{in.Workers, in.Joined, in.Left, in.Failed})
				list, err := workerctl.List(w.Ctx, w.Client(), nil)
				require.NoError(w, err)
				require.Empty(w, list, "the job is no longer listed")
				require.NoError(w, j.Remove(w.Ctx))

				// The next job of the same name is a different job.
				next := w.submit(w.Client(), 1)
				require.NoError(w, next.Kill(w.Ctx))
				last, err = w.lastEnded("words", nil)
				require.NoError(w, err)
				require.Equal(w, next.ID(), last.ID)
				later, err = j.Wait(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, inUTC(told), inUTC(later))
			})
		})
	}
}

// A worker that failed, came back and left has not failed.
func TestWorkerThatComesBackAfterAFailureHasNotFailed(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			j := w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 2, ReuseIDs: reuse})
			k, other := w.join(j, nth(0)), w.join(j, nth(1))
			require.NoError(w, k.Fail(w.Ctx, "out of memory"))
			list, err := j.Members(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, "out of memory", list[0].Failure)
			require.Equal(w, 1, w.info(j).Failed)
			k = w.join(j, nth(0))
			require.Zero(w, w.info(j).Failed)
			w.leave(k)
			w.leave(other)
			out, err := j.Wait(w.Ctx)
			require.NoError(w, err)
			require.EqualValues(w, "finished", out.State)
		})
	}
}

func TestReasonOfAFailureIsChecked(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		k := w.join(w.submit(w.Client(), 1), nth(0))
		for _, reason := range []string{"", "\xff", strings.Repeat("x", 1025)} {
			require.ErrorIs(w, k.Fail(w.Ctx, reason), workerctl.ErrInvalidArgument)
		}
		require.NoError(w, k.Fail(w.Ctx, strings.Repeat("x", 1024)))
		require.NoError(w, k.Leave(w.Ctx), "a second call returns the result of the first")
	})
}

// The outcomes of jobs are deleted after the retention, when other jobs end or a janitor
// sweeps.
func TestOutcomesAreForgottenAfterTheRetention(t *testing.T) {
	ended := root + "/.ended"
	inWorld(t, nil, func(w *World) {
		o := &workerctl.Options{Retention: time.Hour}
		end := func(name string, o *workerctl.Options) *workerctl.Job {
			j, err := workerctl.Submit(w.Ctx, w.Client(), workerctl.Spec{Name: name, Workers: 1}, o)
			require.NoError(w, err)
			require.NoError(w, j.Kill(w.Ctx))
			return j
		}
		first := end("a", o)
		w.Pass(50 * time.Minute)
		end("b", o)
		require.Len(w, w.Children(ended), 2)
		w.Pass(20 * time.Minute)
		end("c", o)
		require.Len(w, w.Children(ended), 2, "%v", w.Children(ended))
		_, err := first.Wait(w.Ctx)
		require.ErrorIs(w, err, workerctl.ErrOver)
		_, err = first.Info(w.Ctx)
		require.ErrorIs(w, err, workerctl.ErrOver)
		_, err = w.lastEnded("a", o)
		require.ErrorIs(w, err, workerctl.ErrNoJob)
		w.Pass(2 * time.Hour)
		_, err = workerctl.NewJanitor(w.Client(), o).Sweep(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, w.Children(ended))
		end("d", &workerctl.Options{Retention: -1})
		require.Empty(w, w.Children(ended))
	})
}

// A janitor deletes outcomes by the servers' clock. Here its own clock is ahead by the
// time that a reply takes.
func TestJanitorForgetsOutcomesByTheServersClock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &workerctl.Options{Retention: time.Hour}
		c := w.Client()
		require.NoError(w, w.submit(c, 1).Kill(w.Ctx))
		w.Settle()
		w.Pass(time.Hour - 2*time.Second)
		stop := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if strings.HasPrefix(r.Op, "getChildren") && r.Path == root+"/.ended" {
				return zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second}
			}
			return zktest.Action{}
		})
		_, err := workerctl.NewJanitor(c, o).Sweep(w.Ctx)
		require.NoError(w, err)
		require.Len(w, w.Children(root+"/.ended"), 1)
		stop()
		_, err = workerctl.NewJanitor(c, o).Sweep(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, w.Children(root+"/.ended"))
	})
}

// If a server refuses the record of the outcome, the job is removed anyway.
func TestRefusedOutcomeDoesNotKeepTheJob(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.submit(w.Client(), 1).Kill(w.Ctx)) // the folder exists
		_, err := w.Session(w.Client()).SetACL(w.Ctx, root+"/.ended", session.WorldACL(session.PermRead), -1)
		require.NoError(w, err)
		j := w.submit(w.Client(), 1)
		w.leave(w.join(j, nth(0)))
		w.removed()
		_, err = j.Wait(w.Ctx)
		require.ErrorIs(w, err, workerctl.ErrOver)
	})
}

// The outcome is known afterwards if any request or reply is lost while the last
// worker leaves.
func TestOutcomeSurvivesEveryLostReplyOfTheRemoval(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
		for n, hit := 1, true; hit; n++ {
			t.Run(fmt.Sprint(fault, n), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					j := w.submit(w.Client(), 1)
					k := w.join(j, nth(0))
					seen := 0
					w.Server.OnRequest(func(q zktest.Request) zktest.Action {
						if q.Session != k.Session().ID() || q.Op == "ping" || q.OnlyChecks {
							return zktest.Action{}
						}
						if seen++; seen == n {
							return zktest.Action{Do: fault}
						}
						return zktest.Action{}
					})
					w.leave(k)
					hit = seen >= n
					w.removed()
					out, err := w.attachOutcome(j)
					require.NoError(w, err)
					require.EqualValues(w, "finished", out.State)
				})
			})
		}
	}
}

// attachOutcome returns j's outcome as seen by another client.
func (w *World) attachOutcome(j *workerctl.Job) (workerctl.Info, error) {
	out, err := w.lastEnded(j.Name(), nil)
	if err == nil {
		require.Equal(w, j.ID(), out.ID)
	}
	return out, err
}

// The end is known before the removal, even if the last worker dies before
// removing the job.
func TestEndIsKnownBeforeTheRemoval(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 1)
		k := w.join(w.attach(w.Client()), nth(0))
		var told workerctl.Info
		waiting := w.beside(func(ctx context.Context) (_ int64, err error) {
			told, err = j.Wait(ctx)
			return 0, err
		})
		w.Once(func(q zktest.Request) bool { return q.Session == k.Session().ID() && q.Op == "multi" && !q.OnlyChecks }, func() {
			w.Server.BlackHole(zktest.Link{Session: k.Session().ID()}, zktest.ToServer)
		})
		over, cancel := context.WithTimeout(w.Ctx, 100*time.Millisecond)
		defer cancel()
		_ = k.Leave(over)
		w.Pass(time.Second)
		require.NotEmpty(w, w.Children(root+"/words"), "the job is not removed")
		require.NoError(w, (<-waiting).err)
		require.EqualValues(w, "finished", told.State)
	})
}

// lastEnded is the last ended job of this name, as seen by another client.
func (w *World) lastEnded(name string, o *workerctl.Options) (workerctl.Info, error) {
	list, err := workerctl.NewJanitor(w.Client(), o).Ended(w.Within(time.Minute), name)
	if err == nil && len(list) == 0 {
		err = workerctl.ErrNoJob
	}
	if err != nil {
		return workerctl.Info{}, err
	}
	all, err := workerctl.NewJanitor(w.Client(), o).Ended(w.Within(time.Minute), "")
	require.NoError(w, err)
	require.GreaterOrEqual(w, len(all), len(list))
	return list[len(list)-1], nil
}

// inUTC is in with the same moments.
func inUTC(in workerctl.Info) workerctl.Info {
	in.Created, in.Ended = in.Created.UTC(), in.Ended.UTC()
	return in
}
