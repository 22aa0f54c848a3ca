// Package rwlock has a lock that any number of readers hold together, or one
// writer alone, among processes on different machines.
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
// Contenders queue with ephemeral sequential znodes, in the order in which the
// servers saw them. A writer waits for the one right before it; a reader for the
// last writer before it, so that readers that come and go wake no reader, and
// all readers that wait for one writer enter at once when it goes, without
// asking the servers for anything.
//
// Package lock has a lock without readers. It is faster where goroutines of one
// process contend: it hands the lock on among them, which this one does not,
// since a reader that joined another in its process would pass the writers that
// queue behind that one.
//
// # Guarantees
//
//   - While a writer holds the lock nobody else does, as far as each holder
//     heeds the context that it is given: it ends before the servers can grant
//     the lock to someone whom that holder excludes. The one exception is a
//     holder whose own process is paused (a stopped process, a suspended
//     machine): nothing in it can run in time. For that case there are the
//     token and the guard.
//   - First come, first served: no reader passes a writer that came before it,
//     so no writer starves; nor does a reader.
//   - Of two holds that exclude each other the later one has the greater
//     [Held.Token]. [Held.Guard] makes a transaction fail once the lock is
//     gone, whoever's clock says what.
//   - [Held.Downgrade] turns a writer into a reader without giving its place
//     away: no writer gets in between. A reader cannot become a writer, since
//     two who tried would wait for each other: [ErrUpgrade].
//   - No fault, timeout or cancelled context leaves a znode behind that blocks
//     others: a create whose answer was lost is found out, and a deletion goes
//     on in the background until the znode or the session is gone.
//   - A lock is not reentrant. Who asks for it again with a context that comes
//     from a hold ([Held.Context], that of Do and RDo, and what is derived from
//     them) gets [ErrUpgrade] or [ErrNested] at once instead of waiting for
//     itself, as long as that hold lasts.
//
// An uncontended acquire takes two requests in one round trip, a release one, a
// downgrade one. A reader whose last writer goes asks for nothing; a writer
// lists the queue, unless the one before it is the only one and reads. With a
// session that was not used for long, or a connection that is new, one more
// request proves that the session can be trusted.
//
// # How it is lost, and how you find out
//
// [Held.Context] ends; context.Cause says why: session.ErrReleased after
// [Held.Unlock] and from the moment at which [Held.Downgrade] is called,
// otherwise session.ErrLost and a reason: why the session was lost, or
// session.ErrNodeDeleted when somebody deleted the znode (the server does, too,
// when it expires the session). Unlock returns the same. A mere disconnect
// loses nothing as long as another server answers in time.
//
// # Znodes
//
// The path is a container, its parents are persistent. Its children are the
// contenders, "_c_<uuid>-__READ__<number>" and "_c_<uuid>-__WRIT__<number>",
// with the ID of [Options] as data; a reader that was a writer has the writer's
// number. docs/layout.md has all forms.
//
// # Failures
//
// Errors wrap ErrBusy, ErrNotHeld, ErrUpgrade, ErrNested, ErrArgument, the
// context's error and cause, or an error of package session (ErrNoAuth,
// ErrSequenceExhausted, ErrUnknownOutcome of a downgrade,
// ErrNoChildrenForEphemerals when the path's parent is ephemeral, ...).
//
// # Compatibility
//
// By default the znodes are those of Curator's InterProcessReadWriteLock, as of
// 5.5.0 where a writer becomes a reader; with [Kazoo] those of Kazoo's ReadLock
// and WriteLock. An RWMutex honors the contenders of both, while Curator orders
// Kazoo's wrongly and Kazoo does not see Curator's: all who share a path with one of
// them must use its form. All other children are ignored: also those of package lock
// in its default layout, which do not exclude those of this package. Kazoo's Lock,
// and package lock with Kazoo's names, are waited for like writers, but do not wait
// for readers themselves: they have no place on a path that has any.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package rwlock
