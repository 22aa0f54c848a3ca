// Package barrier has barriers for processes on different machines: a gate that
// one process opens, a barrier for a number of parties, and a double barrier
// that parties enter and leave together.
//
// # What it is
//
//	b := barrier.New(client, "/jobs/7/phase", 3, nil)
//	round, err := b.Await(ctx) // until three parties are here
//
// or, to work together:
//
//	d := barrier.NewDouble(client, "/jobs/7/work", 3, nil)
//	seat, err := d.Enter(ctx)
//	if err != nil {
//		return err
//	}
//	err = errors.Join(work(seat.Context()), seat.Leave(ctx))
//
// Each party has an ephemeral sequential znode. The last party to arrive lets
// all parties through, in one transaction that fails if a party has left or
// died meanwhile.
//
// # Guarantees
//
//   - No party passes a [Barrier], or enters a [Double], before all parties of
//     the round are present at the same moment; then all of them pass. Remains
//     of a crash, a timeout or an earlier round are never counted.
//   - A barrier works for any number of rounds, without a reset. A party may
//     come again at once.
//   - [Seat.Leave] returns when all parties of the round have left or died,
//     not before.
//   - No party passes a closed [Gate]. Changes of the gate's data, or of other
//     znodes, neither open nor block the gate.
//   - No fault, timeout or canceled context leaves a znode behind; a deletion
//     continues in the background until the znode or the session is gone.
//   - No call waits for a notification alone: after a lost connection, and in
//     a new session, the state is read again.
//
// A round costs each party three requests, two of them in one round trip: the
// party creates its znode, reads the path, and reads the path once more when
// the round is complete. The last party lists and commits instead. One further
// request is sent by the first call, by a party that waits for longer than a
// heartbeat period, and to prove that a session can be trusted for a seat.
//
// # How it is lost, and how you find out
//
// A waiting party can lose its place, with its session or because an
// administrator deletes its znode; the call takes another place by itself. A
// seat is lost with its session: [Seat.Context] ends before the other parties
// can learn that the party has gone, with a cause that wraps session.ErrLost.
// Leave returns the same error.
//
// After a pause of the process, the Err of [Seat.Context] is correct at once,
// but that of a context derived from it, as HTTP and SQL clients derive one,
// may be nil for some hundred milliseconds: call session.ContextErr before a
// step that must not follow a loss.
//
// An unknown outcome is reported as such: if an error of [Barrier.Await] wraps
// session.ErrUnknownOutcome, the party may have been counted, and the other
// parties may have passed.
//
// # Znodes
//
// The path of a Barrier or Double is a persistent znode. Its data is a record
// of the rounds, and its children are the parties,
// "_c_<uuid>-<ID>-party-<number>", with the data of [Options]. The party that
// completes a round of a Barrier deletes the znodes of the waiting parties; in
// a Double they stay as seats. Beside the path of a Barrier, the persistent
// znode "<path>.passed" lists the parties of the newest rounds: if you delete
// the path, delete "<path>.passed" too. A copied record, or a record restored
// from a backup, is refused with ErrRecord; set the path's data to the empty
// string. The path of a Gate is persistent, and exists while the gate is
// closed. docs/layout.md has the formats.
//
// # Failures
//
// Errors wrap ErrParties (another number of parties on this path), ErrRecord
// (the path contains something else), ErrTooMany, ErrNotInside, ErrInvalidArgument,
// the context's error and cause, or an error of package session
// (ErrUnknownOutcome, ErrNoAuth, ErrSequenceExhausted after 2,147,483,647
// arrivals on one path, ErrTooLarge for IDs that make a release too long for
// one request).
//
// # Compatibility
//
// A Gate is Curator's DistributedBarrier and Kazoo's Barrier. The double
// barriers of those libraries let parties through early, or hang: never share a
// path with them.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Without an
// [Options.ID], each call is a separate party.
package barrier
