// Package rwlock has a read/write lock for processes on different machines: any
// number of readers hold the lock together, or one writer holds it alone.
//
// # What it is
//
//	mu := rwlock.New(client, "/locks/catalog", nil)
//	held, err := mu.RLock(ctx) // or Lock; ctx bounds the wait, not the hold
//	if err != nil {
//		return err
//	}
//	defer held.Unlock(context.WithoutCancel(ctx))
//	err = work(held.Context(), held.Token())
//
// [RWMutex.Enqueue] and [RWMutex.REnqueue] take a place in the queue at once, and
// [Place.Await] waits later.
//
// Contenders queue with ephemeral sequential znodes, in the order in which the
// servers received them. A writer waits for the contenders before it, and
// watches the readers back to the last writer (of many, the last 16), and that
// writer; a reader waits for the last writer before it.
// Readers that come and go therefore wake no reader, and all readers behind one
// writer enter together when the writer goes, without a request to the servers.
//
// Package lock has a lock without readers, which is faster if goroutines of one
// process contend: a lock.Mutex is handed over within the process. An [RWMutex]
// is not: a reader that joined another reader of its process would pass the
// writers in the queue.
//
// # Guarantees
//
//   - While a writer holds the lock, no other client does, if each holder
//     heeds its context: a context ends before the servers can grant the lock
//     to a client that the holder excludes.
//   - This has three exceptions, for which the token and the guard are made:
//     a pause of the holder's own process (a stopped process, a suspended
//     machine); a holder's znode that an administrator or [RWMutex.Break]
//     deletes, of which the holder learns within a heartbeat, or when its
//     process runs again; and an ensemble that loses acknowledged
//     transactions. docs/guarantees.md has the details.
//   - Contenders are served in the order of arrival: no reader passes a writer
//     that came earlier, so neither writers nor readers starve.
//   - Of two holds that exclude each other, the later hold has the greater
//     [Held.Token]. [Held.Guard] makes a transaction fail once the lock is
//     gone, independently of all clocks.
//   - [Held.Downgrade] turns a writer into a reader without giving up the
//     place in the queue: no writer gets in between. A reader cannot become a
//     writer ([ErrUpgrade]), because two readers that tried would wait for
//     each other.
//   - No fault, timeout or canceled context leaves a znode behind that blocks
//     others. If the reply to a create is lost, the library finds out the
//     outcome; a deletion continues in the background until the znode or the
//     session is gone.
//   - A lock is not reentrant. A call with a context that comes from a hold of
//     the same lock ([Held.Context], the context of Do and RDo, and contexts
//     derived from them) returns [ErrUpgrade] or [ErrNested] at once instead
//     of waiting for itself, as long as the hold lasts.
//
// An uncontended acquire takes two requests in one round trip, a release one, a
// downgrade one. A reader sends no request when its last writer goes, and a
// writer none when the readers before it go, in any order, up to 16 of them.
// When the last writer before it goes, a writer lists the queue: that writer may
// have become a reader with the same place. In a session without recent
// requests, and on a new connection, one more request proves that the session
// can be trusted.
//
// # How it is lost, and how you find out
//
// [Held.Context] ends, and context.Cause says why: session.ErrReleased after
// [Held.Unlock] and from the call of [Held.Downgrade] on, otherwise
// session.ErrLost and a reason. The reason is that of the lost session, or
// session.ErrNodeDeleted if the znode was deleted (by an administrator, or by
// the server when it expires the session). Unlock returns the same error. A
// disconnect alone loses nothing if another server answers in time.
//
// After a pause of the process, the Err of [Held.Context] is correct at once,
// but that of a context derived from it, as HTTP and SQL clients derive one,
// may be nil for some hundred milliseconds: call session.ContextErr before a
// step that must not follow a loss.
//
// # Znodes
//
// The path is a container (with [Kazoo] a persistent znode), and its parents
// are persistent. Its children are the contenders, "_c_<uuid>-__READ__<number>"
// and "_c_<uuid>-__WRIT__<number>", with the ID of [Options] as data. A reader
// that was a writer has the writer's number. docs/layout.md has all forms.
//
// # Failures
//
// Errors wrap ErrBusy, ErrNotHeld, ErrWithdrawn, ErrUpgrade, ErrNested,
// ErrInvalidArgument, the context's error and cause, or an error of package
// session (ErrNoAuth, ErrSequenceExhausted, ErrUnknownOutcome of a downgrade,
// ErrNoChildrenForEphemerals when the path's parent is ephemeral, ...).
//
// # Compatibility
//
// By default the znodes are those of Curator's InterProcessReadWriteLock, as of
// 5.5.0 for a writer that becomes a reader; with [Kazoo] those of Kazoo's
// ReadLock and WriteLock. An RWMutex honors the contenders of both. Curator
// orders Kazoo's names wrongly, and Kazoo does not see Curator's names: on a
// path shared with one of them, all participants must use its form.
//
// All other children are ignored. This includes the contenders of package lock
// in its default layout, which do not exclude contenders of this package.
// Kazoo's Lock, and package lock with Kazoo's names, count as writers, but do
// not wait for readers: do not use them on a path with readers.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package rwlock
