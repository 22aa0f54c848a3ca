// Package gocronlock runs each job of github.com/go-co-op/gocron/v2 in one of several
// processes: it implements gocron's Locker with locks, and gocron's Elector with an
// election.
//
// # What it is
//
//	locker := gocronlock.NewLocker(client, "/cron", nil)
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//	...
//	job, err := scheduler.NewJob(gocron.CronJob("0 3 * * *", false),
//		locker.Task("report", func(ctx context.Context, held *lock.Held) error { return report(ctx, held.Token()) }),
//		gocron.WithName("report"))
//
// With a [Locker], every process schedules all jobs, and the process that gets the lock of
// a job runs it. With an [Elector], the leading process runs all jobs:
//
//	leader := serving.New(election.New(client, "/cron/leader", nil), nil)
//	elector := gocronlock.NewElector(leader)
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
//	...
//	err = leader.Run(ctx) // stands in the election; ends after the runs in progress
//
// gocron's Elector is the better choice unless the jobs are too many for one process: it
// does not depend on the clocks of the processes.
//
// The package is a module of its own, so that no other user of the library depends on
// gocron.
//
// # Guarantees
//
//   - A run that begins holds the lock of its job's name, or its process leads. If the
//     lock is taken, gocron skips the run.
//   - gocron gives a job no context that ends when the lock is lost: its Locker returns a
//     lock, and no context. Therefore make the job's task with [Locker.Task] or
//     [Elector.Task]: the function's context ends before the servers can let another
//     process run the job. A task that was made with gocron.NewTask is not told of a loss.
//   - The lock is released when the run has ended. Leader.Run waits for the runs of
//     Elector.Task before it gives the leadership back; it does not know of other tasks,
//     which gocron's Shutdown must wait for before.
//   - A job that was locked by a crashed process is free after its session timeout.
//
// Not guaranteed: one run per scheduled time. The processes' clocks differ, and a job that
// takes less time than they differ may be run by one process, and then by the next, whose
// clock is behind. [Options.MinHold] keeps the lock for that long. A run that is skipped
// while the former holder's session has not expired is not made up for.
//
// # How it is lost, and how you find out
//
// The context of the function of Task ends; context.Cause says why, and the error of the
// task wraps session.ErrLost, for gocron's AfterJobRunsWithError. A Locker's refusal, which
// wraps lock.ErrBusy usually, is an event of AfterLockError.
//
// # Znodes
//
// A job's lock is at the path of the Locker and below, in the name of the job, in which
// slashes and other special characters are escaped as in a URL. See package lock.
//
// # Failures
//
// Lock fails as lock.Mutex.TryLock does. IsLeader fails with serving.ErrNotLeading. A task
// outside of a run with the lock fails with [ErrNoRun].
//
// # Compatibility
//
// gocron v2 from 2.21, the version in go.mod.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. No goroutine is started.
package gocronlock
