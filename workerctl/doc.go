// Package workerctl numbers the workers of a job without a gap, tells them who
// works with them, lets them wait for each other, and cleans up behind them.
//
// # What it is
//
//	job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 4}, nil)
//
// and then in each worker, wherever it runs:
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
//	return w.Leave(ctx) // finished; the last one out removes the job
//
// A worker is known by its identity, a name that stays when it is started anew.
// It gets its number, the id, when it joins first, and the same one whenever it
// comes back.
//
// # Guarantees
//
//   - The ids that were given out are 0 to n-1, however and wherever anyone
//     crashes, and none is given to two identities at a time. An id, the member
//     that has it, what leads from the identity to the id, and the sign that the
//     worker lives come to be in one transaction, on condition that nothing has
//     changed since it was prepared.
//   - Whoever comes back under its identity has its old id, with a higher
//     [Worker.Incarnation] and a greater [Worker.Token]. The [Worker.Guard] of its
//     former self, if that still lives, fails from the same transaction on; it is
//     told by a watch, and when it is cut off, once its trust runs out. In between
//     only guard and token tell the two apart.
//   - A job is finished when all its workers have joined and left. Exactly one
//     of them finds that out and removes the job, also when several leave in the
//     same instant. A worker that has died has not left: the job waits for it,
//     until a [Janitor] finds that nobody has lived for Options.Abandoned.
//   - Whether a job is running is what is written in it, not whether a worker
//     lives at the moment. A job that is over cannot be joined any more, also
//     while its removal goes on, and anybody can complete that.
//   - Nothing that belongs to one job can be hit by a late request of another
//     one of the same name: no path is used twice.
//   - Barriers count workers, not processes, and only those that wait; see
//     [Worker.Barrier]. A phase that is over stays so; see [Worker.Phase].
//   - No znode grows with the number of workers.
//
// To join takes four requests, to leave two. Those who collide with others queue
// up, so that it is a constant number more for each, however many they are. With a
// session that was not used for long, or a connection that is new, one more request
// proves that the session can be trusted.
//
// # How it is lost, and how you find out
//
// [Worker.Context] ends before the servers can tell others that the worker has
// died; context.Cause says why: session.ErrReleased after [Worker.Leave],
// otherwise session.ErrLost and a reason: why the session was lost, or
// session.ErrNodeDeleted when the worker's next self has taken its place or the
// job was killed, which nobody can be told beforehand. Join again, under the same
// identity.
//
// # Znodes
//
// A job is a persistent znode below Options.Root, with its description; below
// that is its one run, a persistent node with a name of its own, and in it "state",
// "members", "ids", "live", "barriers" and others; only the children of "live" are
// ephemeral, besides what packages barrier, lock and election make.
// docs/workerctl.md has the whole tree and the formats.
//
// # Failures
//
// Errors wrap ErrArgument, ErrRunning, ErrNoJob, ErrOver, ErrFull, ErrNotRemoved,
// ErrRecord, a [MissingError] or an [InUseError], the context's error and cause,
// or an error of package session (ErrLost, ErrUnknownOutcome, ErrNoAuth, ...).
//
// A job whose workers were all killed is still running: to submit it again is
// refused (ErrRunning) until it counts as abandoned, after [Options.Abandoned].
// [Attach] and [Job.Kill], or "zkr job kill NAME", end it at once.
//
// # Compatibility
//
// It does what Twister2's ZooKeeper-based worker controller does; its znodes are
// ours alone. docs/workerctl.md says which option of Twister2 is which of ours.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. One client can serve
// any number of workers, as far as they may be lost together.
package workerctl
