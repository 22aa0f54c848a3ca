// Package counter has numbers shared by processes on different machines: a
// counter, Curator's shared count, a sequence of unique numbers, and a count-down
// latch.
//
// # What it is
//
//	hits := counter.New(client, "/counters/hits", nil)
//	n, err := hits.Add(ctx, 3)
//
// The number is the data of a single znode. A [Counter] adds, sets, and
// compares and swaps. A [Shared] is a 32-bit number whose states can be told
// apart. A [Sequence] hands out unique numbers. A [Latch] counts down to 0, and lets
// those that wait pass then. Goroutines with a shared value
// share its writes: changes made during a write are carried out together by the
// next write.
//
// # Guarantees
//
//   - Every change is made once or not at all, and its result is correct,
//     whatever requests, replies, connections and servers are lost. If the
//     outcome cannot be known, the error wraps session.ErrUnknownOutcome;
//     [Counter.Add] says when.
//   - Changes, and reads with Get, are linearizable, even while servers are
//     cut off from each other: each takes effect at one moment between its
//     call and its return.
//   - A counter that is deleted and created again, by any client, is not
//     mistaken for the former counter, although its version starts at 0 again:
//     a write computed from the former counter never changes the new counter.
//   - A caller whose context ends before its change was sent has not made the
//     change, and never will.
//   - An uncontended change is one request. Get sends a transaction and a read
//     together, in one round trip; so does a failing CompareAndSwap. The first
//     change in each session takes three requests. The first change of a
//     counter whose znode is missing takes six, if its parent exists.
//
// # How it is lost, and how you find out
//
// A counter has no hold to lose. A session that ends takes its marker along,
// and the next change creates another marker. If the session ends while the
// reply to a change is missing, the next write settles the outcome, as long as
// the counter has not changed at all. Otherwise, and always after a Set, the
// outcome is unknown, and the error says so.
//
// # Znodes
//
// The path and its parents are persistent. Each [Counter], [Shared] or
// [Sequence] that has changed the number in the present session has an
// ephemeral child, "_c_<uuid>-writer" ("-countdown" for a [Latch]), whose stat tells which of its
// transactions was carried out last. The child stays as long as the session:
// make one value per path and keep it, not one per change. A plain delete of a
// counter in use fails; deleteall works, and every writer notices.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrCorrupt, ErrOverflow, ErrVersion, ErrReused,
// ErrDeleted, the context's error and cause, or an error of package session
// (ErrUnknownOutcome, ErrNoAuth, ErrNoChildrenForEphemerals when the counter's znode is ephemeral,
// ...).
//
// # Compatibility
//
// The data is that of Curator's DistributedAtomicLong by default; with
// [CuratorInt] and [KazooText] the data of Curator's DistributedAtomicInteger
// and Kazoo's Counter. [Shared] is Curator's SharedCount. All libraries can use
// the same path at the same time. A [Latch] has a format of its own. Their own retries after lost replies may make
// a change twice, or report it as not made; this package cannot prevent that.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package counter
