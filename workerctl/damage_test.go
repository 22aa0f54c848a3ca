package workerctl_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Tests of a job whose znodes are deleted by hand.

// damaged runs body with a job of four workers: 0 and 1 run, 2 has left, and id 3 was not
// assigned. With reuse, ids of workers that have left are assigned again.
func damaged(t *testing.T, reuse bool, body func(w *World, j *workerctl.Job, crew []*workerctl.Worker)) {
	inWorld(t, nil, func(w *World) {
		j := w.submitSpec(w.Client(), workerctl.Spec{Name: "words", Workers: 4, ReuseIDs: reuse})
		crew := w.crew(3)
		w.leave(crew[2])
		body(w, j, crew)
	})
}

// Every call comes to an end within a minute of virtual time, for any missing
// znode: with success, if the znode can be created again, or with an error that
// names the missing znode. The job can be killed in all cases.
func TestDamagedJobIsMendedOrSaysWhatIsMissing(t *testing.T) {
	type call struct {
		name string
		do   func(ctx context.Context, w *World, j *workerctl.Job, crew []*workerctl.Worker) error
	}
	join := func(n, id int) func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
		return func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
			k, err := j.Join(ctx, nth(n))
			if err == nil && k.ID() != id && k.ID() != 3 { // a new id if the entry of 2 was deleted
				err = fmt.Errorf("worker-%d has id %d, not %d", n, k.ID(), id)
			}
			return err
		}
	}
	calls := []call{
		{"join again", join(0, 0)},
		{"join new", nil},
		{"leave", func(ctx context.Context, _ *World, _ *workerctl.Job, crew []*workerctl.Worker) error {
			return crew[1].Leave(ctx)
		}},
		{"update", func(ctx context.Context, _ *World, _ *workerctl.Job, crew []*workerctl.Worker) error {
			return crew[1].Update(ctx, map[string]string{"a": "b"})
		}},
		{"grow", func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
			return j.Scale(ctx, 6)
		}},
		{"shrink", func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
			return j.Scale(ctx, 2)
		}},
		{"wait", nil},
		{"info", func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
			_, err := j.Info(ctx)
			return err
		}},
		{"members", func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
			_, err := j.Members(ctx)
			return err
		}},
		{"sweep", func(ctx context.Context, w *World, _ *workerctl.Job, _ []*workerctl.Worker) error {
			_, err := workerctl.NewJanitor(w.Client(), nil).Sweep(ctx)
			return err
		}},
	}
	for _, reuse := range []bool{false, true} {
		calls[1].do = join(7, map[bool]int{true: 2, false: 3}[reuse])
		calls[6].do = func(ctx context.Context, _ *World, j *workerctl.Job, _ []*workerctl.Worker) error {
			if reuse {
				return nil // not all ids are given out
			}
			if err := join(7, 3)(ctx, nil, j, nil); err != nil {
				return err
			}
			return j.WaitAll(ctx)
		}
		for _, part := range []string{"live", "ids", "free", "members", "members/0", "members/1", "members/2", "size", "barriers", "phases"} {
			for _, c := range calls {
				t.Run(fmt.Sprintf("%s/%s/%v", part, c.name, reuse), func(t *testing.T) {
					damaged(t, reuse, func(w *World, j *workerctl.Job, crew []*workerctl.Worker) {
						require.NoError(w, w.Server.DeleteAll(runOf(crew[0])+"/"+part))
						began := time.Now()
						err := c.do(w.Within(5*time.Minute), w, j, crew)
						require.Less(w, time.Since(began), time.Minute)
						switch {
						case err == nil:
						case part == "live" && (c.name == "leave" || c.name == "update"):
							require.ErrorIs(w, err, session.ErrLost)
						default:
							require.Contains(w, part, "members")
							require.ErrorIs(w, err, workerctl.ErrRecord)
							require.ErrorContains(w, err, "/members")
							require.ErrorContains(w, err, "kill the job")
						}
						require.NoError(w, j.Kill(w.Ctx))
						w.removed()
					})
				})
			}
		}
	}
}

// "full" is created again if missing, and deleted if a foreign program has
// created it.
func TestZnodeThatSaysThatTheJobIsFullFollowsTheStatus(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		full := path + "/" + w.Children(path)[0] + "/full"
		exists := func() bool {
			_, err := w.Server.Get(full)
			return err == nil
		}
		require.NoError(w, w.Server.Create(full, nil))
		waiting := w.waitAll(j)
		w.Pass(time.Second)
		w.pending(waiting)
		crew := w.crew(2)
		w.passed(0, waiting)
		require.True(w, exists())

		require.NoError(w, w.Server.Delete(full))
		require.NoError(w, j.WaitAll(w.Within(time.Second)))
		require.NoError(w, j.Scale(w.Within(time.Minute), 3))
		require.False(w, exists())
		require.NoError(w, w.Server.Create(full, nil))
		w.join(j, nth(2))
		require.True(w, exists())
		require.NoError(w, w.Server.Delete(full))
		require.NoError(w, j.Scale(w.Within(time.Minute), 4))
		require.False(w, exists())
		require.NoError(w, w.Server.Create(full, nil))
		require.NoError(w, j.Scale(w.Within(time.Minute), 3))
		require.True(w, exists())
		_ = crew
	})
}

// A wait with FailFast continues while the live folder is missing. Afterwards
// it reports the workers that have died by the deletion.
func TestFailFastSeesThatNoWorkerLivesWhenTheFolderIsDeleted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		k := w.failFast(0)
		j, err := workerctl.Attach(w.Ctx, w.Client(), "words", &workerctl.Options{FailFast: true})
		require.NoError(w, err)
		require.NoError(w, w.Server.DeleteAll(runOf(k)+"/live"))
		_, err = j.Wait(w.Within(time.Minute))
		w.faulty(err)
		require.Equal(w, []int{0}, w.missing(err).Dead)
	})
}

// The sizes of a job's znodes differ from the status, or are not numbers.
func TestSizeThatIsNoNumberIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		crew := w.crew(2)
		require.NoError(w, w.Server.Set(runOf(crew[0])+"/size", []byte("many")))
		w.passed(1, w.barrier(crew[0], "b"), w.barrier(crew[1], "b"))
	})
}

// Some of the free ids were deleted, and others are not free: workers run under them.
func TestFreeIDsFollowTheMembers(t *testing.T) {
	damaged(t, true, func(w *World, j *workerctl.Job, crew []*workerctl.Worker) {
		w.join(j, nth(2))
		w.join(j, nth(3))
		w.leave(crew[1])
		run := runOf(crew[0])
		require.NoError(w, w.Server.Delete(run+"/free/1"))
		require.NoError(w, w.Server.Create(run+"/free/0", nil))
		require.Equal(w, 1, w.join(j, named("new")).ID())
		require.Empty(w, w.Children(run+"/free"))
		require.NoError(w, crew[0].Context().Err())
		require.NoError(w, w.Server.Create(run+"/free/0", nil))
		w.leave(crew[0])
		require.Equal(w, []string{"0"}, w.Children(run+"/free"))
	})
}

// A member znode whose id was not assigned is not overwritten.
func TestMemberBeyondThoseThatWereGivenOutIsReported(t *testing.T) {
	damaged(t, false, func(w *World, j *workerctl.Job, crew []*workerctl.Worker) {
		require.NoError(w, w.Server.Create(runOf(crew[0])+"/members/3", nil))
		_, err := j.Join(w.Within(time.Minute), nth(3))
		require.ErrorIs(w, err, workerctl.ErrRecord)
		require.ErrorContains(w, err, "/members/3 exists, and the id was not given out: delete it")
	})
}

// A deleted znode is not created again if the job ends meanwhile.
func TestNothingOfAJobThatEndsIsMadeAgain(t *testing.T) {
	damaged(t, false, func(w *World, j *workerctl.Job, crew []*workerctl.Worker) {
		require.NoError(w, w.Server.DeleteAll(runOf(crew[0])+"/ids"))
		w.Once(func(r zktest.Request) bool { return r.Op == "getData" && r.Path == runOf(crew[0])+"/members/2" }, func() {
			if err := w.Server.DeleteAll(path); err != nil {
				w.Error(err)
			}
		})
		_, err := j.Join(w.Within(time.Minute), nth(3))
		require.ErrorIs(w, err, workerctl.ErrOver)
		w.removed()
	})
}

// The error about a record that was overwritten names the record and the way out.
func TestErrorsNameTheRecordThatWasOverwritten(t *testing.T) {
	for part, calls := range map[string][]string{
		"state": {"join", "leave", "members", "info", "submit", "sweep"}, "members/1": {"join", "members"}, "ids/worker-1": {"join"},
	} {
		damaged(t, false, func(w *World, j *workerctl.Job, crew []*workerctl.Worker) {
			at := runOf(crew[0]) + "/" + part
			require.NoError(w, w.Server.Set(at, []byte("garbage")))
			ctx := w.Within(time.Minute)
			_, join := j.Join(ctx, nth(1))
			_, members := j.Members(ctx)
			_, info := j.Info(ctx)
			_, submit := workerctl.Submit(ctx, w.Client(), workerctl.Spec{Name: "words", Workers: 1}, nil)
			_, sweep := workerctl.NewJanitor(w.Client(), nil).Sweep(ctx)
			errs := map[string]error{
				"join": join, "members": members, "info": info, "submit": submit, "sweep": sweep, "leave": crew[1].Leave(ctx),
			}
			for _, call := range calls {
				require.ErrorIs(w, errs[call], workerctl.ErrRecord, call)
				require.ErrorContains(w, errs[call], at+": not a record of this package: ", call)
				require.ErrorContains(w, errs[call], "zkr job kill", call)
			}
			require.NoError(w, j.Kill(ctx))
			w.submit(w.Client(), 1)
		})
	}
}

// The status of a job is deleted or overwritten while workers wait. The error of each wait
// says so when its time is over.
func TestWaitsSayThatTheStatusIsGone(t *testing.T) {
	for name, spoil := range map[string]func(w *World, state string) error{
		"deleted":     func(w *World, state string) error { return w.Server.Delete(state) },
		"overwritten": func(w *World, state string) error { return w.Server.Set(state, []byte("garbage")) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				j := w.submit(w.Client(), 3)
				crew := w.crew(2)
				waits := []<-chan result{w.barrier(crew[0], "b"), w.phase(crew[1], "p"), w.waitAll(j)}
				w.Settle()
				require.NoError(w, spoil(w, runOf(crew[0])+"/state"))
				waits = append(waits, w.barrier(crew[0], "c"), w.phase(crew[1], "q"))
				for _, wait := range waits {
					err := (<-wait).err
					require.ErrorIs(w, err, context.DeadlineExceeded)
					if name == "deleted" {
						require.ErrorIs(w, err, workerctl.ErrOver)
						continue
					}
					require.ErrorIs(w, err, workerctl.ErrRecord)
					require.ErrorContains(w, err, runOf(crew[0])+"/state: not a record")
				}
			})
		})
	}
}
