package gocronlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/gocronlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestMain fails if any test leaves a goroutine behind.
func TestMain(m *testing.M) { world.Main(m) }

var errWork = errors.New("work failed") // read only

// scheduler starts a scheduler, which is shut down at the end of the test.
func scheduler(w *world.World, o ...gocron.SchedulerOption) gocron.Scheduler {
	s, err := gocron.NewScheduler(o...)
	require.NoError(w, err)
	s.Start()
	w.Cleanup(func() { _ = s.Shutdown() })
	return s
}

// every makes a job that runs each second.
func every(w *world.World, s gocron.Scheduler, name string, task gocron.Task, o ...gocron.JobOption) {
	_, err := s.NewJob(gocron.DurationJob(time.Second), task, append(o, gocron.WithName(name))...)
	require.NoError(w, err)
}

// Three processes schedule one job: one at a time runs it, each run holds the lock, and
// nothing is left.
func TestJobRunsInOneProcessAtATime(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var inside, runs atomic.Int32
		var skipped atomic.Int32
		var all []gocron.Scheduler
		for range 3 {
			c := w.Client()
			locker := gocronlock.NewLocker(c, "/cron", &gocronlock.Options{MinHold: 100 * time.Millisecond})
			s := scheduler(w, gocron.WithDistributedLocker(locker))
			every(w, s, "pkg/a.job", locker.Task("pkg/a.job", func(ctx context.Context, held *lock.Held) error {
				// Not require: gocron waits in vain for a run whose goroutine has exited.
				assert.EqualValues(w, 1, inside.Add(1))
				defer inside.Add(-1)
				assert.NotZero(w, held.Token())
				assert.NotEmpty(w, w.Children("/cron/pkg%2Fa.job"))
				runs.Add(1)
				return ctx.Err()
			}), gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) {
				assert.ErrorIs(w, err, lock.ErrBusy)
				skipped.Add(1)
			}), gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { w.Errorf("%v", err) })))
			all = append(all, s)
		}
		w.Pass(10500 * time.Millisecond)
		for _, s := range all {
			require.NoError(w, s.Shutdown())
		}
		require.EqualValues(w, 10, runs.Load())
		require.EqualValues(w, 20, skipped.Load())
		require.Empty(w, w.Children("/cron/pkg%2Fa.job"))
	})
}

// A run's context ends when its lock is lost, before another process can run the job.
func TestRunIsToldOfALossBeforeAnotherRuns(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		a, b := w.Client(), w.Client()
		var lost, next time.Time
		failed := make(chan error, 100)
		locker := gocronlock.NewLocker(a, "/cron", nil)
		s := scheduler(w, gocron.WithDistributedLocker(locker), gocron.WithLimitConcurrentJobs(1, gocron.LimitModeReschedule))
		every(w, s, "job", locker.Task("job", func(ctx context.Context, _ *lock.Held) error {
			<-ctx.Done()
			lost = time.Now()
			return errWork
		}), gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		w.Pass(1500 * time.Millisecond)
		second := gocronlock.NewLocker(b, "/cron", nil)
		done := make(chan struct{})
		every(w, scheduler(w, gocron.WithDistributedLocker(second)), "job", second.Task("job", func(context.Context, *lock.Held) error {
			if next.IsZero() {
				next = time.Now()
				close(done)
			}
			return nil
		}))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		<-done
		err := <-failed
		require.ErrorIs(w, err, errWork)
		require.ErrorIs(w, err, session.ErrLost)
		require.True(w, lost.Before(next), "%v, %v", lost, next)
		w.Server.Heal()
	})
}

// A process crashes during a run: the job is free after its session timeout.
func TestJobOfACrashedProcessIsFreeAfterTheSessionTimeout(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		crashed, c := w.Client(), w.Client()
		_, err := gocronlock.NewLocker(crashed, "/cron", nil).Lock(w.Ctx, "job")
		require.NoError(w, err)
		began := time.Now()
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		locker := gocronlock.NewLocker(c, "/cron", nil)
		for {
			l, err := locker.Lock(w.Ctx, "job")
			if err == nil {
				require.NoError(w, l.Unlock(w.Ctx))
				break
			}
			require.ErrorIs(w, err, lock.ErrBusy)
			world.Pause(time.Second)
		}
		require.InDelta(w, session.DefaultTimeout, time.Since(began), float64(5*time.Second))
		w.Server.Heal()
	})
}

// The lock outlives a short run by MinHold, so that a process whose clock is behind does
// not run the job again.
func TestLockIsHeldForTheMinimumTime(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		locker := gocronlock.NewLocker(c, "/cron", &gocronlock.Options{MinHold: 5 * time.Second})
		other := gocronlock.NewLocker(w.Client(), "/cron", nil)
		l, err := locker.Lock(w.Ctx, "job")
		require.NoError(w, err)
		began := time.Now()
		time.AfterFunc(4*time.Second, func() {
			_, err := other.Lock(w.Ctx, "job")
			require.ErrorIs(w, err, lock.ErrBusy)
		})
		require.NoError(w, l.Unlock(w.Ctx))
		require.Equal(w, 5*time.Second, time.Since(began).Truncate(time.Second))

		// The shutdown of the scheduler, a loss, and a run that has taken longer end it.
		for _, cut := range []func(cancel func()){
			func(cancel func()) { cancel() },
			func(func()) { w.Expire(c) },
			func(func()) { w.Pass(6 * time.Second) },
		} {
			l, err = locker.Lock(w.Ctx, "job")
			require.NoError(w, err)
			ctx, cancel := context.WithCancel(w.Ctx)
			cut(cancel)
			began = time.Now()
			if err := l.Unlock(ctx); err != nil {
				require.ErrorIs(w, err, session.ErrLost)
			}
			require.Less(w, time.Since(began), 2*time.Second)
			cancel()
			w.Settle()
			require.Empty(w, w.Children("/cron/job"))
		}
	})
}

// gocron ends the context of a job at the shutdown; the lock is released all the same.
func TestShutdownReleasesTheLock(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		locker := gocronlock.NewLocker(w.Client(), "/cron", nil)
		s := scheduler(w, gocron.WithDistributedLocker(locker))
		began := make(chan struct{})
		every(w, s, "job", locker.Task("job", func(ctx context.Context, _ *lock.Held) error {
			close(began)
			<-ctx.Done()
			return nil
		}))
		<-began
		require.NoError(w, s.Shutdown())
		w.Settle()
		require.Empty(w, w.Children("/cron/job"))
	})
}

func TestTaskWithoutItsLockFails(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		locker := gocronlock.NewLocker(w.Client(), "/cron", nil)
		s := scheduler(w) // without the locker
		failed := make(chan error, 100)
		task := locker.Task("job", func(context.Context, *lock.Held) error { w.Error("it ran"); return nil })
		every(w, s, "job", task, gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		require.ErrorIs(w, <-failed, gocronlock.ErrNoRun)
	})
}

func TestPathsOfJobsAreValidAndDiffer(t *testing.T) {
	l := gocronlock.NewLocker(nil, "/cron", nil)
	seen := map[string]string{}
	for _, job := range []string{".", "..", "%2E", "a/b", "a%2Fb", "a b", "é\x00", "main.main.func1", "..."} {
		p := l.Path(job)
		require.NoError(t, session.ValidatePath(p), job)
		require.Empty(t, seen[p], "%q and %q", job, seen[p])
		seen[p] = job
	}
	require.Equal(t, "/cron/github.com%2Fa%2Fb.job", l.Path("github.com/a/b.job"))
	require.Equal(t, "/job", gocronlock.NewLocker(nil, "/", nil).Path("job"))
}

func TestInvalidArgumentsAreReportedByTheFirstCall(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		for want, l := range map[string]*gocronlock.Locker{
			"the client is nil":                 gocronlock.NewLocker(nil, "/cron", nil),
			"path":                              gocronlock.NewLocker(c, "cron", nil),
			"MinHold is -1ns":                   gocronlock.NewLocker(c, "/cron", &gocronlock.Options{MinHold: -1}),
			"make it with gocronlock.NewLocker": {},
		} {
			_, err := l.Lock(w.Ctx, "job")
			require.ErrorIs(w, err, session.ErrInvalidArgument)
			require.ErrorContains(w, err, want)
		}
		var none *gocronlock.Locker
		_, err := none.Lock(w.Ctx, "job")
		require.ErrorIs(w, err, session.ErrInvalidArgument)
		require.Empty(w, none.Path("job"))
		_, err = gocronlock.NewLocker(c, "/cron", nil).Lock(w.Ctx, "")
		require.ErrorContains(w, err, "the job has no name")
	})
}
