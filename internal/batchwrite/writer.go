package batchwrite

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/session"
)

// writer carries batches out, one at a time: a transaction that sets the
// znode, on condition of the known version, and the writer's own marker. The
// marker tells afterwards whether the transaction was applied, even after
// writes of other clients.
//
// The marker is below the znode, so a version read after the creation of the
// marker is never mistaken for another node's version: a client that deletes
// the znode must delete the marker first, and then the transaction fails
// because of the missing marker, whatever versions a new znode has.
type writer[T any] struct {
	r *Batcher[T]
	s *session.Session // of the marker; nil at first
	// marker is the marker's path, "" without a marker; mark is the zxid of its
	// last known change or creation.
	marker string
	mark   int64
	// known is set if now is a state of the znode after the creation of the
	// marker, seen after the arrival of all changes up to seenAt.
	known  bool
	now    State
	seenAt uint64
	// pending is set while the outcome of a write is open whose session, or
	// marker, is gone.
	pending *pendingWrite
	backoff backoff.Backoff
	// cuts is the number of transactions that have cost the connection since the
	// last success.
	cuts int
	// conflicts and unknown count, for the observer, the writes of the present batch that
	// another client was ahead of, and those without a reply.
	conflicts, unknown int
}

// pendingWrite is a write of unknown outcome. The write depended on a version
// of a node. While the node still has this version, the next write with the
// same condition settles the outcome: at most one of the two is carried out.
// After a change of the version, the outcome stays unknown.
type pendingWrite struct {
	node    Identity
	version int32
	reason  error
}

// open reports whether the outcome can still be found out.
func (d *pendingWrite) open(now State) bool { return now.Node == d.node && now.Version == d.version }

// writeRound carries out a batch, or finds out the required state first. Every
// caller in the queue gets the error.
//
// ctx ends when no caller waits any more, and bounds the wait for a session, a
// connection or other writers. A sent request lives as long as the session,
// because the next caller needs its answer: otherwise a caller with less time
// than the first change of a session takes would never succeed, even with many
// tries.
func (w *writer[T]) writeRound(ctx context.Context) error {
	s, err := w.r.client.Session(ctx)
	if err == nil {
		err = w.prepare(s.Context(), s)
	}
	if err == nil && w.known {
		err = w.carryOut(ctx)
	}
	if session.IsSessionLoss(err) {
		return nil // the next session goes on
	}
	return err
}

// prepare has a marker in session s, and knows the znode's state.
func (w *writer[T]) prepare(ctx context.Context, s *session.Session) error {
	if w.s != s {
		w.s, w.marker, w.known = s, "", false // the marker went with its session
	}
	if w.marker == "" {
		if err := w.enterSession(ctx); err != nil {
			return err
		}
	}
	if !w.known {
		if err := w.readState(ctx); err != nil {
			return err
		}
	}
	if w.known && w.pending != nil && !w.pending.open(w.now) {
		w.r.answerPending(w.pending.reason)
		w.pending = nil
	}
	return nil
}

// enterSession makes the marker, and the znode if missing, and reads the
// znode.
func (w *writer[T]) enterSession(ctx context.Context) error {
	w.known = false
	o := &session.CreateOptions{ACL: w.r.o.ACL}
	for {
		at := w.r.lastArrival()
		creation := w.s.StartProtected(w.r.path+"/"+session.ProtectedName(w.r.o.Marker), nil, session.Ephemeral, o)
		behind := w.s.StartGet(w.r.path, false)
		node, err := creation.Wait(ctx)
		if errors.Is(err, session.ErrNoNode) {
			if err := w.r.ensureNode(ctx, w.s); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		w.marker, w.mark = node.Path, node.Stat.Mzxid
		if seen, err := behind.Wait(ctx); err == nil && creation.Direct() {
			w.observe(stateOf(seen.Data, seen.Stat), at)
		}
		return nil
	}
}

func (w *writer[T]) observe(now State, at uint64) { w.known, w.now, w.seenAt = true, now, at }

// readState reads the znode's present state.
func (w *writer[T]) readState(ctx context.Context) error {
	at := w.r.lastArrival()
	now, err := readFresh(ctx, w.s, w.r.path)
	switch {
	case err != nil:
		return err
	case now != nil:
		w.observe(*now, at)
	default:
		w.marker = "" // the marker must have gone before the znode
	}
	return nil
}

// carryOut carries out the changes in the queue, on the known state.
func (w *writer[T]) carryOut(ctx context.Context) error {
	for {
		batch := w.r.batch()
		if len(batch) == 0 {
			return nil
		}
		var p Plan[T]
		if w.r.o.Stock != nil {
			p = planReservation(w.r.o.Stock, w.now, len(batch))
		} else {
			p = MakePlan(w.now, batch)
		}
		if w.pending != nil {
			p.resolve(w.now)
		}
		ops := batch[:len(p.Outcomes)]
		switch {
		case !p.Writes:
			w.finishPlan(ops, p)
			return nil
		case w.r.claim(ops):
			return w.write(ctx, ops, p)
		}
	}
}

// finishPlan answers ops without changes. Such ops must not be decided by a
// state known before their arrival, because the state may have changed; a write
// confirms the state for the ops in its batch.
func (w *writer[T]) finishPlan(ops []*op[T], p Plan[T]) {
	n := 0
	for n < len(ops) && ops[n].arrival <= w.seenAt {
		n++
	}
	w.r.answerOps(ops[:n], p.Outcomes)
	if n == 0 {
		w.known = false // to be read again
	}
}

// write sends the plan's transaction and finds out its outcome.
func (w *writer[T]) write(ctx context.Context, ops []*op[T], p Plan[T]) error {
	at := ops[len(ops)-1].arrival
	began := time.Now()
	results, behind, err := w.commit(p)
	took := time.Since(began)
	applied := err == nil
	switch {
	case applied:
		last := len(results) - 1
		w.mark = results[last].Stat.Mzxid
		w.observe(stateOf(p.Data, results[last-1].Stat), at)
	case errors.Is(err, session.ErrUnknownOutcome):
		w.unknown++
		applied, err = w.resolveOutcome(p.Version, err)
	}
	if applied {
		w.backoff.Won(took)
		w.cuts = 0
		w.pending = nil // of two writes at one version, the other was not carried out
		w.r.onApplied(ops, p)
		w.readBehind(behind, at)
		return nil
	}
	if errors.Is(err, session.ErrTooLarge) && p.Author >= 0 {
		w.r.putBack(ops)
		w.r.refuseOp(ops[p.Author], err) // the others are carried out without it
		return nil
	}
	return w.onFailure(ctx, ops, at, err)
}

// commit sends the transaction; while other clients write too, a read is sent
// behind the transaction: another client's write right afterwards does not cost
// the next write the race.
func (w *writer[T]) commit(p Plan[T]) ([]session.Result, *session.Future[session.Seen], error) {
	txn := w.s.StartTxn(p.txn(w.r.path, w.marker)...)
	var behind *session.Future[session.Seen]
	if w.backoff.Contended() {
		behind = w.s.StartGet(w.r.path, false)
	}
	results, err := txn.Wait(w.s.Context())
	return results, behind, err
}
