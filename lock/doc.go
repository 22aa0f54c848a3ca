// Package lock has locks that are shared by processes on different machines: a
// mutex, a semaphore, and several mutexes as one.
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
// or, if the work is to end with ctx as well,
//
//	err := mu.Do(ctx, func(ctx context.Context, held *lock.Held) error {
//		return work(ctx, held.Token())
//	})
//
// Contenders queue with ephemeral sequential znodes, and each waits for the one
// before it, so that a release wakes one waiter however many there are. The
// order is that in which the servers saw them. Goroutines that share a [Mutex]
// queue in their process, and hand the lock on among themselves for
// [Options.LocalHandover], before the other processes have their turn.
//
// # Guarantees
//
//   - At most one holder of a mutex, or as many permits as a [Semaphore] has,
//     at any time, as far as the holder heeds the context that it is given: it
//     ends before the servers can grant the lock to someone else. The one
//     exception is a holder whose own process is paused (a stopped process, a
//     suspended machine): nothing in it can run in time. For that case there
//     are the token and the guard.
//   - [Held.Token] grows with every grant of a path at the server. [Held.Guard]
//     makes a transaction fail once the lock is gone, whoever's clock says what.
//   - First come, first served, among processes and within one; in turns of at
//     most LocalHandover between them.
//   - No fault, timeout or cancelled context leaves a znode behind that blocks
//     others: a create whose answer was lost is found out, and a deletion goes
//     on in the background until the znode or the session is gone.
//   - A mutex is not reentrant: a holder that locks again waits for itself.
//   - A path is a mutex or a semaphore: the two do not see each other's
//     contenders, nor those of a read/write lock, and would all hold at once.
//
// An uncontended acquire takes two requests in one round trip, a release one. A
// waiter whose predecessor held the lock asks nothing when it goes. With a
// session that was not used for long, or a connection that is new, one more
// request proves that the session can be trusted.
//
// # How it is lost, and how you find out
//
// [Held.Context] ends; context.Cause says why: session.ErrReleased after
// [Held.Unlock], otherwise session.ErrLost and a reason: why the session was
// lost, or session.ErrNodeDeleted when somebody deleted the znode (the server
// does, too, when it expires the session). Unlock returns the same. A mere disconnect loses nothing as long as another server answers in
// time.
//
// # Znodes
//
// The path is a container, its parents are persistent. Its children are the
// contenders, "_c_<uuid>-lock-<number>", with the ID of [Options] as data;
// docs/layout.md has all forms.
//
// # Failures
//
// Errors wrap ErrBusy, ErrNotHeld, ErrPermits, ErrArgument, the context's error
// and cause, or an error of package session (ErrNoAuth, ErrSequenceExhausted,
// ErrNoChildrenForEphemerals when the path's parent is ephemeral, ...).
//
// # Compatibility
//
// By default the znodes are those of Curator's InterProcessMutex, which
// go-zookeeper's Lock understands too, and with [Options.CuratorV2] those of
// its InterProcessSemaphoreV2; with [Kazoo] those of Kazoo's Lock. On shared
// paths the contenders of all of them are honored, and all other children are
// ignored.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package lock
