// Package lock has locks for processes on different machines: a mutex, a
// semaphore, and several mutexes as one.
//
// # What it is
//
//	mu := lock.New(client, "/locks/report", nil)
//	held, err := mu.Lock(ctx) // ctx bounds the wait, not the hold
//	if err != nil {
//		return err
//	}
//	defer held.Unlock(context.WithoutCancel(ctx))
//	err = work(held.Context(), held.Token())
//
// or, if the work should end with ctx as well,
//
//	err := mu.Do(ctx, func(ctx context.Context, held *lock.Held) error {
//		return work(ctx, held.Token())
//	})
//
// [Mutex.Enqueue] and [Semaphore.Enqueue] take a place in the queue at once, and
// wait later, in as many calls as you like:
//
//	place, err := mu.Enqueue(ctx)
//	...
//	defer place.Withdraw(context.WithoutCancel(ctx)) // releases the lock, too
//	held, err := place.Await(ctx)
//
// Contenders queue with ephemeral sequential znodes, in the order in which the
// servers received them. Each contender watches the two contenders before it,
// so a release wakes two waiters, however long the queue is: the first takes
// the lock without a request, and the second lists the queue, to be ready for
// its turn. Goroutines that share a [Mutex] queue in their process, and hand
// the lock over among themselves for [Options.LocalHandover], before other
// processes have their turn.
//
// # Guarantees
//
//   - A mutex has at most one holder, and a [Semaphore] gives out at most its
//     number of permits, at any time, if holders heed their contexts: a
//     context ends before the servers can grant the lock to another client.
//   - This has three exceptions, for which the token and the guard are made:
//     a pause of the holder's own process (a stopped process, a suspended
//     machine); a holder's znode that an administrator, [Mutex.Break] or
//     [Semaphore.Break] deletes, of which the holder learns within a
//     heartbeat, or when its process runs again; and an ensemble that loses
//     acknowledged transactions. docs/guarantees.md has the details.
//   - After a pause, Held.Context().Err() is correct at once. For a derived
//     context call session.ContextErr, because the derived context's own Err
//     may be nil for some hundred milliseconds more.
//   - [Held.Token] grows with every grant of a path at the server.
//     [Held.Guard] makes a transaction fail once the lock is gone,
//     independently of all clocks.
//   - Waiters are served in the order of arrival, among processes and within a
//     process; a process hands a lock over among its goroutines for at most
//     LocalHandover after the grant at the server. In a queue of more than
//     [Options.MaxQueue] contenders the order is nearly that of the arrival.
//   - No fault, timeout or canceled context leaves a znode behind that blocks
//     others. If the reply to a create is lost, the library finds out the
//     outcome; a deletion continues in the background until the znode or the
//     session is gone.
//   - A mutex is not reentrant: a holder that locks again waits for itself.
//   - A path is for mutexes or for semaphores, not for both. Mutexes,
//     semaphores and read/write locks ignore each other's contenders, and
//     would all be held at once.
//
// An uncontended acquire takes two requests in one round trip, and a release
// one. A waiter directly behind the holder sends no request when the holder's
// znode goes. In a session without recent requests, and on a new connection, an
// additional request proves that the session can be trusted.
//
// Lists of contenders, PermitsAt, and the first check of the Try methods are
// plain reads: their state may be past, except that a majority of the servers has
// confirmed an empty list. The library decides whether a contender has its turn
// from a read behind the contender's own creation.
//
// # How it is lost, and how you find out
//
// [Held.Context] ends, and context.Cause says why: session.ErrReleased after
// [Held.Unlock], otherwise session.ErrLost and a reason. The reason is that of
// the lost session, or session.ErrNodeDeleted if the znode was deleted (by an
// administrator, or by the server when it expires the session). Unlock returns
// the same error. A disconnect alone loses nothing if another server answers in
// time.
//
// # Znodes
//
// The path is a container (with [Kazoo] a persistent znode), and its parents
// are persistent. Its children are the contenders, "_c_<uuid>-lock-<number>",
// with the ID of [Options] as data. docs/layout.md has all forms.
//
// # Failures
//
// Errors wrap ErrBusy, ErrNotHeld, ErrPermits, ErrWithdrawn,
// ErrInvalidArgument, the context's error and cause, or an error of package
// session (ErrNoAuth, ErrSequenceExhausted, ErrNoChildrenForEphemerals when the
// path's parent is ephemeral, ...).
//
// # Compatibility
//
// By default the znodes are those of Curator's InterProcessMutex, which
// go-zookeeper's Lock understands too; with [Options.CuratorV2] those of
// Curator's InterProcessSemaphoreV2; with [Kazoo] those of Kazoo's Lock. On
// shared paths the contenders of all these libraries are honored, and all other
// children are ignored. [Mutex.Revoke] and [Held.AwaitRevocation] are Curator's
// Revoker and makeRevocable.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package lock
