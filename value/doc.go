// Package value has bytes shared by processes on different machines, with compare and set:
// Curator's SharedValue and DistributedAtomicValue.
//
// # What it is
//
//	limits := value.New(client, "/config/limits", nil)
//	data, err := limits.Update(ctx, func(data []byte) ([]byte, error) {
//		return addTenant(data, "shop")
//	})
//
// The bytes are the data of a single znode. A [Value] sets them, sets them if they are still
// what the caller has seen, by the bytes ([Value.CompareAndSwap]) or by the state
// ([Value.TrySet]), and computes new bytes of the present ones ([Value.Update]).
// [Value.Watch] follows them. Goroutines with a shared Value share its writes: changes made
// during a write are carried out together by the next write.
//
// # Guarantees
//
//   - Every change is made once or not at all, and its result is correct,
//     whatever requests, replies, connections and servers are lost. If the
//     outcome cannot be known, the error wraps session.ErrUnknownOutcome;
//     [Value.Set] says when.
//   - Changes, and reads with Get, are linearizable, even while servers are
//     cut off from each other: each takes effect at one moment between its
//     call and its return. Several changes that one write carries out are such
//     moments too, although no client can read the bytes between them.
//   - A value that is deleted and created again, by any client, is not
//     mistaken for the former value, although its version starts at 0 again:
//     a write computed from the former value never changes the new value.
//   - A caller whose context ends before its change was sent has not made the
//     change, and never will.
//   - An uncontended change is one request. Get sends a transaction and a read
//     together, in one round trip; so does a refused change. The first
//     change in each session takes three requests. The first change of a
//     value whose znode is missing takes six, if its parent exists.
//
// # How it is lost, and how you find out
//
// A value has no hold to lose. A session that ends takes its marker along,
// and the next change creates another marker. If the session ends while the
// reply to a change is missing, the next write settles the outcome, as long as
// the value has not changed at all. Otherwise, and always after a Set, the
// outcome is unknown, and the error says so.
//
// # Znodes
//
// The path and its parents are persistent. Each [Value] that has changed the bytes in the
// present session has an ephemeral child, "_c_<uuid>-value", whose stat tells which of its
// transactions was carried out last. The child stays as long as the session:
// make one Value per path and keep it, not one per change. A plain delete of a
// value in use fails; deleteall works, and every writer notices.
//
// The bytes have no form of their own, so nothing but the children shows that a znode is a
// value: the dashboard shows a value while a Value that has changed it in its session exists.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrVersion, the context's error and cause, the error of a
// function passed to Update, or an error of package session (ErrUnknownOutcome, ErrTooLarge,
// ErrNoAuth, ErrNoChildrenForEphemerals when the value's znode is ephemeral, ...).
//
// # Compatibility
//
// The data is the bytes as they are, as those of Curator's SharedValue and
// DistributedAtomicValue, and all can use the same path at the same time; [Options.Seed] is
// the seed of a SharedValue. Their own retries after lost replies may make a change twice,
// or report it as not made; this package cannot prevent that. Curator's compareAndSet of a
// missing znode fails, whatever it expects; here, a missing znode has the data of the seed.
//
// # Concurrency
//
// All methods may be called from any number of goroutines.
package value
