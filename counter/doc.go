// Package counter has numbers that processes on different machines share: a
// counter, Curator's shared count, and a sequence of numbers that are handed out
// once.
//
// # What it is
//
//	hits := counter.New(client, "/counters/hits", nil)
//	n, err := hits.Add(ctx, 3)
//
// The number is the data of one znode. A [Counter] adds, sets, and compares and
// swaps; a [Shared] is a 32-bit number whose states can be told apart; a
// [Sequence] hands out unique numbers. Goroutines that share one of them share
// its writes: what comes while a write is under way is carried out by the next.
//
// # Guarantees
//
//   - Every change is made once or not at all, and its result is the truth,
//     whatever requests, replies, connections and servers are lost. Where that
//     cannot be known the error wraps session.ErrUnknownOutcome; see
//     [Counter.Add] for when.
//   - Changes, and reads with Get, are linearizable, also while servers are cut
//     off from each other: each takes effect at one moment between its call and
//     its return.
//   - A counter that is deleted and made again, by whomever, is not mistaken for
//     what it was, though its version starts at 0 again: a write that was
//     computed from the old one never lands in the new one.
//   - A caller whose context ends before its change was sent has not made it,
//     and never will.
//   - An uncontended change is one request, a Get two in one round trip, a
//     CompareAndSwap that fails two in one round trip. The first change in each
//     session takes two requests more, and three more than that if there is no
//     znode yet.
//
// # How it is lost, and how you find out
//
// Nothing is held. A session that ends takes the marker along, and the next
// change makes another. If it ends over a change whose reply is missing, the next
// write settles that as long as the counter has not changed at all; otherwise, and
// always after a Set, the outcome is unknown, and the error says so.
//
// # Znodes
//
// The path is persistent, as are its parents. Each [Counter], [Shared] or
// [Sequence] that has changed it in the present session has an ephemeral child,
// "_c_<uuid>-writer", whose stat tells which of its transactions was carried out
// last. It stays as long as the session: make one for a path and keep it, not one
// for each change. A counter in use cannot be deleted by a plain delete;
// deleteall and its like can, and every writer notices.
//
// # Failures
//
// Errors wrap ErrArgument, ErrCorrupt, ErrOverflow, ErrVersion, ErrReused, the
// context's error and cause, or an error of package session (ErrUnknownOutcome,
// ErrNoAuth, ErrNoChildrenForEphemerals when the counter's znode is ephemeral,
// ...).
//
// # Compatibility
//
// The data is that of Curator's DistributedAtomicLong by default; [CuratorInt]
// and [KazooText] are its DistributedAtomicInteger and Kazoo's Counter. [Shared]
// is Curator's SharedCount. All can be used on the same path at the same time;
// what their own retries do to the number when replies are lost (a change made
// twice, or reported as not made) cannot be prevented from here.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package counter
