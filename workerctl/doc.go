// Package workerctl numbers the workers of a job without a gap, tells each
// worker about the others, lets workers wait for each other, and cleans up
// after them.
//
// # What it is
//
//	job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 4}, nil)
//
// and then in each worker, on any machine:
//
//	job, err := workerctl.Attach(ctx, client, "words", nil)
//	if err != nil {
//		return err
//	}
//	w, err := job.Join(ctx, workerctl.Identity{Name: pod, Addresses: []string{address}})
//	if err != nil {
//		return err
//	}
//	if err := job.WaitAll(ctx); err != nil { // until all have joined
//		return err
//	}
//	if err := work(w.Context(), w.ID()); err != nil { // ends when w is lost
//		return err
//	}
//	if _, err := w.Barrier(ctx, "step"); err != nil {
//		return err
//	}
//	return w.Leave(ctx) // finished; the last worker out removes the job
//
// A worker is known by its identity, a name that stays when the worker is
// started again. A worker gets its number, the id, with its first join, and the
// same id whenever it comes back.
//
// # Guarantees
//
//   - The assigned ids are 0 to n-1, whatever processes crash and wherever,
//     and no id is assigned to two identities at a time. The id, its member,
//     the entry from the identity to the id, and the sign that the worker is
//     alive are created in one transaction, on condition that nothing has
//     changed since the transaction was prepared.
//   - A worker that comes back under its identity has its old id, with a
//     higher [Worker.Incarnation] and a greater [Worker.Token]. If the former
//     process of the worker is still alive, its [Worker.Guard] fails from the
//     same transaction on. The former process is told by a watch, or, if it is
//     cut off, when its trust runs out. In between, only the guard and the
//     token tell the two processes apart.
//   - A job is finished when all its workers have joined and left. Exactly one
//     worker finds this out and removes the job, even if several workers leave
//     at the same instant. A worker that has died has not left: the job waits
//     for the worker, until a [Janitor] finds that no worker has been alive
//     for Options.Abandoned.
//   - The job's record decides whether the job is running, not whether a
//     worker is alive at the moment. A job that is over cannot be joined any
//     more, even during its removal, and any client can complete the removal.
//   - The outcome of a job can be found out for Options.Retention: [Job.Wait]
//     and [Job.Info] report it to clients that have the job, and
//     [Janitor.Ended] to any client by the job's name. The client that removes
//     the job writes this record before the removal.
//   - No late request of one job affects another job of the same name: no path
//     is used twice.
//   - Barriers count workers, not processes, and only workers that wait; see
//     [Worker.Barrier]. A phase that is over stays over; see [Worker.Phase].
//   - No znode grows with the number of workers.
//
// A join takes three requests, a leave two. Workers whose joins collide queue
// up, at a constant number of further requests for each, however many collide.
// In a session without recent requests, and on a new connection, one more
// request proves that the session can be trusted.
//
// # How it is lost, and how you find out
//
// [Worker.Context] ends before the servers can report the worker as dead, and
// context.Cause says why: session.ErrReleased after [Worker.Leave],
// [Worker.Fail] or [Worker.Release], otherwise session.ErrLost and a reason. The
// reason is that of the lost session, or session.ErrNodeDeleted if the worker's
// next process has taken its place, or the job was killed; these two cannot be
// announced in advance. To continue, join again under the same identity.
//
// After a pause of the process, the Err of [Worker.Context] is correct at
// once, but that of a context derived from it, as HTTP and SQL clients derive
// one, may be nil for some hundred milliseconds: call session.ContextErr
// before a step that must not follow a loss.
//
// # Znodes
//
// A job is a persistent znode below Options.Root, with the job's description.
// Below the job is its one run, a persistent znode with a unique name, and in
// the run are "state", "members", "ids", "live", "barriers" and others. Only
// the children of "live" are ephemeral, besides the znodes of packages barrier,
// lock and election. docs/workerctl.md has the whole tree and the formats.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrRunning, ErrNoJob, ErrOver, ErrFull,
// ErrNotRemoved, ErrRecord, a [MissingError] or an [InUseError], the context's
// error and cause, or an error of package session (ErrLost, ErrUnknownOutcome,
// ErrNoAuth, ...).
//
// A job whose workers were all killed is still running: submitting the job
// again fails with ErrRunning until the job counts as abandoned, after
// [Options.Abandoned]. [Attach] and [Job.Kill], or "zkr job kill NAME", end the
// job at once.
//
// # Compatibility
//
// The package does what Twister2's ZooKeeper-based worker controller does; no
// other library writes its znodes. docs/workerctl.md maps Twister2's options to
// the options here.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. One client can serve
// any number of workers, if they may be lost together.
package workerctl
