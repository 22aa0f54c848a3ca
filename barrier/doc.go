// Package barrier has places where processes on different machines wait for
// each other: a gate that somebody opens, a barrier of a number of parties, and a
// double barrier that they enter and leave together.
//
// # What it is
//
//	b := barrier.New(client, "/jobs/7/phase", 3, nil)
//	round, err := b.Await(ctx) // until three of them are here
//
// or, to do something together:
//
//	d := barrier.NewDouble(client, "/jobs/7/work", 3, nil)
//	seat, err := d.Enter(ctx)
//	if err != nil {
//		return err
//	}
//	err = errors.Join(work(seat.Context()), seat.Leave(ctx))
//
// Each party has an ephemeral sequential znode. The last one to come lets all of
// them through, in one transaction that fails if one of them has left or died
// meanwhile.
//
// # Guarantees
//
//   - Nobody gets past a [Barrier], or into a [Double], before all parties of the
//     round are there at one and the same moment; then all of them do. What a
//     crash, a timeout or an earlier round has left behind is never counted.
//   - Barriers are used again and again, for any number of rounds, without
//     anybody resetting them. A party may come again at once.
//   - [Seat.Leave] returns when all of the round have left or died, not before.
//   - A [Gate] lets nobody pass while it is closed. Changes of its data, or of
//     other znodes, neither open nor block it.
//   - No fault, timeout or canceled context leaves a znode behind; a deletion
//     goes on in the background until the znode or the session is gone.
//   - Nothing waits for a notification alone: after a lost connection, and in a
//     new session, all is read again.
//
// A round costs each party three requests, two of them in one round trip: it
// creates its znode, reads the path, and reads it once more when the round is
// complete; the last party lists and commits instead. The first call asks one
// thing more, as does who waits for longer than a heartbeat period, and the proof
// that a session can be trusted for a seat.
//
// # How it is lost, and how you find out
//
// Who waits can lose its place, with its session or by an administrator's hand:
// it comes again, by itself. A seat is lost with its session: [Seat.Context] ends,
// before the others can be told that the party has gone, with a cause that wraps
// session.ErrLost, and so says Leave.
//
// What cannot be known is reported as such: an error of [Barrier.Await] that wraps
// session.ErrUnknownOutcome says that the party may have been counted; the others
// may have passed.
//
// # Znodes
//
// The path of a Barrier or Double is a persistent znode. Its data is a record of
// the rounds, and its children are the parties, "_c_<uuid>-<ID>-party-<number>",
// with the data of [Options]. Waiting parties are deleted by whoever completes the
// round; those of a Double stay as seats. Beside the path of a Barrier there is
// another persistent znode, "<path>.passed", that says who was let through last:
// who deletes the one should delete both. A record that was copied, or restored
// from a backup, is of no use and refused with ErrRecord; it must be made empty.
// The path of a Gate is persistent, and exists while it is closed. docs/layout.md
// has the formats.
//
// # Failures
//
// Errors wrap ErrParties (another number of parties on this path), ErrRecord (the
// path is something else), ErrTooMany, ErrNotInside, ErrArgument, the context's
// error and cause, or an error of package session (ErrUnknownOutcome, ErrNoAuth,
// ErrSequenceExhausted after 2,147,483,647 arrivals on one path, ErrTooLarge for
// IDs that make a release too long for one request).
//
// # Compatibility
//
// A Gate is Curator's DistributedBarrier and Kazoo's Barrier. Double barriers of
// those libraries are something else: they let parties through early, or hang, and
// a path must not be shared with them.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; without an
// [Options.ID] each call is a party of its own.
package barrier
