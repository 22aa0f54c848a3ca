// Package locktable has locks for use in large numbers: a table of locks by
// name. An owner takes and releases any number of locks in one transaction.
// Each lock has its own token, its own guard and its own loss.
//
// # What it is
//
//	table := locktable.New(client, "/locks/shards", nil)
//	owner, err := table.Join(ctx)
//	if err != nil {
//		return err
//	}
//	defer owner.Release(context.WithoutCancel(ctx))
//	held, err := owner.TryLock(ctx, "shard-1", "shard-2", "shard-3") // those that are free
//	if err != nil {
//		return err
//	}
//	for _, lock := range held {
//		err = errors.Join(err, work(lock.Context(), lock.Name(), lock.Token()))
//	}
//	return errors.Join(err, owner.Unlock(ctx, held...))
//
// [Owner.Lock] waits until it holds all of the locks. An [Acquirer] takes each
// lock as soon as it is free, and its set of names can change. For a single
// lock or a few locks, use package lock: its waiters are served in the order of
// arrival.
//
// A lock is a persistent znode whose data names its owner: an ephemeral znode
// of the client. The lock is free if its data names no owner, or if the owner's
// znode has gone. So a lost session frees all locks of an owner at once, at the
// cost of a single deletion for any number of locks. [Table.OwnedBy] makes an
// owner of another recipe's znode, such as a candidate of an election.
//
// # Guarantees
//
//   - A lock has at most one holder at any time, if holders heed their contexts: when an
//     owner is lost, its context ends before the servers can let another client take
//     its locks.
//   - This has three exceptions, for which the token and the guard are made: a pause of
//     the holder's own process (a stopped process, a suspended machine); the znode of an
//     owner or of a lock that another client deletes or overwrites; and an ensemble that
//     loses acknowledged transactions. docs/guarantees.md has the details.
//   - [Held.Token] grows with every grant of a lock. [Held.Guard] makes a transaction fail
//     once the owner has gone or the lock is released, independently of all clocks.
//   - Locks are taken and released in transactions of up to 500 locks, or fewer if the
//     transaction would become too long for the servers. Each transaction is carried out
//     as a whole, but an attempt for more locks is not: each lock is for itself.
//   - If the reply to a transaction is lost, the library finds out the outcome.
//     If the context ends first, the locks taken by the transaction are
//     released in the background, or with the owner.
//   - Znodes whose data is not a record of this package count as held, and are never changed
//     or deleted.
//   - Waiters have no order: a released lock goes to any waiter. A lock is not
//     reentrant.
//
// # Requests
//
// Trying n locks takes n+1 reads in one round trip, a read per other owner
// among the holders, and a transaction per 500 free locks; all of these travel
// together. Releasing n locks takes a transaction per 500 locks. Each held lock
// costs an additional read in the background, for the watch on its loss; see
// [Options.Unwatched]. A client that waits for n locks sends one request per
// event, or per hundreds of events of one transaction, before it reads these
// locks again.
//
// # How it is lost, and how you find out
//
// All locks of an owner are lost with its session, or when its znode is
// deleted; a single lock is lost when another client deletes its znode or
// writes its data. [Held.Context] ends, and context.Cause says why:
// session.ErrReleased after the release, otherwise session.ErrLost and a
// reason. Unlock returns the same error. A disconnect alone loses nothing if
// another server answers in time.
//
// A session that was given up may live on at the servers, and its owner then keeps
// the locks from all other clients. [Owner.Release] frees the locks in the client's
// next session.
//
// After a pause of the process, the Err of [Held.Context] is correct at once,
// but that of a context derived from it, as HTTP and SQL clients derive one,
// may be nil for some hundred milliseconds: call session.ContextErr before a
// step that must not follow a loss.
//
// # Znodes
//
// The table's path is persistent, and so are its children, the locks: a
// released lock stays as a free lock, so the next lock need not create it.
// [Owner.Remove] deletes free locks. The data of a lock is a JSON object with
// "format", which is 1, and "client", the name of the owner's znode; fields
// that are not known survive. The owners are the ephemeral children
// "_c_<uuid>-owner" of the container "<path>.owners", with the ID of [Options]
// as data, or the znodes of [Options.Owners].
//
// # Failures
//
// Errors wrap ErrNotHeld, ErrRecord, ErrInvalidArgument, the context's error
// and cause, or an error of package session (ErrLost, ErrNoAuth,
// ErrUnknownOutcome, ...). An error of [Owner.TryLock] may wrap
// session.ErrUnknownOutcome: then a transaction was not answered, and the locks
// taken by it are released.
//
// # Compatibility
//
// The znodes are those of the barriers of package rebalanser, with its clients as owners. No
// other library has this form.
//
// # Observation
//
// An observer of the client receives a hold of kind observe.Lock for each lock of an owner,
// with the table's path as the path and the lock's path as the znode. A call of
// [Owner.Lock] is one wait for all its locks, whose holds begin when the call returns. The
// locks that [Owner.TryLock] and an [Acquirer] take have no wait.
//
// # Concurrency
//
// All methods may be called from any number of goroutines, except that an [Acquirer] has
// one Run.
package locktable
