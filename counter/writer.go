package counter

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/pace"
	"github.com/zkrecipes/zkrecipes/session"
)

// writer carries batches out, one at a time: a transaction that sets the counter if it
// has the version that is known, and the writer's own marker. The marker tells
// afterwards whether the transaction was applied, however many clients have written
// since.
//
// The marker is below the counter, so that a version known since the marker was made is
// never mistaken for that of another node: a client that deletes the counter must
// delete the marker first, and then the transaction fails because the marker is
// missing, whatever versions the counter has had since it was made again.
type writer struct {
	r *batcher
	s *session.Session // of the marker; nil at first
	// marker is its path, "" if there is none; mark is the zxid of its last
	// change, or creation, that is known.
	marker string
	mark   int64
	// known says that now is a state that the counter had after the marker was
	// made; it was seen after all changes up to arrival seenAt had come.
	known  bool
	now    state
	seenAt uint64
	// doubt is set while the outcome of a write is open whose session, or
	// marker, is gone.
	doubt *pendingWrite
	pace  pace.Pace
	// cuts is how many transactions have cost the connection, since one was
	// carried out.
	cuts int
}

// pendingWrite is a write of unknown outcome. It depended on a version of a node. While
// the node still has that version, the next write that depends on it settles the
// outcome: at most one of the two is carried out. After that, nothing settles the
// outcome.
type pendingWrite struct {
	czxid   int64
	version int32
	reason  error
}

// open reports whether the doubt can still be settled.
func (d *pendingWrite) open(now state) bool { return now.czxid == d.czxid && now.version == d.version }

// writeRound carries out one batch, or finds out what it must know before. Every caller
// in the queue gets the error.
//
// ctx, which ends when no caller waits any more, bounds the waiting for a session, a
// connection or other writers. A request that was sent lives as long as the session:
// the next caller needs its answer, and a caller with less time than the first change
// of a session takes would otherwise never get through, however often the caller tries.
func (w *writer) writeRound(ctx context.Context) error {
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

// prepare has a marker in session s, and knows the counter's state.
func (w *writer) prepare(ctx context.Context, s *session.Session) error {
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
	if w.known && w.doubt != nil && !w.doubt.open(w.now) {
		w.r.answerPending(w.doubt.reason)
		w.doubt = nil
	}
	return nil
}

// enterSession makes the marker, and the counter if it is missing, and reads it.
func (w *writer) enterSession(ctx context.Context) error {
	w.known = false
	o := &session.CreateOptions{ACL: w.r.acl}
	for {
		at := w.r.lastArrival()
		creation := w.s.StartProtected(newMarker(w.r.path), nil, session.Ephemeral, o)
		behind := w.s.StartGet(w.r.path, false)
		node, err := creation.Wait(ctx)
		if errors.Is(err, session.ErrNoNode) {
			if err := ensureNode(ctx, w.s, w.r.path, w.r.initial, o); err != nil {
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

func (w *writer) observe(now state, at uint64) { w.known, w.now, w.seenAt = true, now, at }

// readState reads the counter's state as it is now.
func (w *writer) readState(ctx context.Context) error {
	at := w.r.lastArrival()
	now, err := readFresh(ctx, w.s, w.r.path)
	switch {
	case err != nil:
		return err
	case now != nil:
		w.observe(*now, at)
	default:
		w.marker = "" // it must have gone before the counter
	}
	return nil
}

// carryOut carries out the changes in the queue, on the known state.
func (w *writer) carryOut(ctx context.Context) error {
	batch := w.r.takeQueue()
	if len(batch) == 0 {
		return nil
	}
	var p plan
	if w.r.block > 0 {
		p = makeReservation(w.r.format, w.now, batch, w.r.block)
	} else {
		p = makePlan(w.r.format, w.now, batch)
	}
	if w.doubt != nil {
		p.resolve(w.now)
	}
	if !p.writes {
		w.r.putBack(batch)
		w.finishPlan(p)
		return nil
	}
	return w.write(ctx, batch, p)
}

// finishPlan answers ops that change nothing. They must not be decided on a state known
// before they came, since the state may have changed; a write confirms the state for
// the ops that come with it.
func (w *writer) finishPlan(p plan) {
	n := 0
	for n < len(p.ops) && p.ops[n].arrival <= w.seenAt {
		n++
	}
	w.r.answerOps(p, n)
	if n == 0 {
		w.known = false // to be read again
	}
}

// write sends the plan's transaction and finds out its outcome.
func (w *writer) write(ctx context.Context, batch []*op, p plan) error {
	at := p.ops[len(p.ops)-1].arrival
	began := time.Now()
	results, behind, err := w.commit(p)
	took := time.Since(began)
	applied := err == nil
	switch {
	case applied:
		last := len(results) - 1
		w.mark = results[last].Stat.Mzxid
		w.observe(stateOf(p.data, results[last-1].Stat), at)
	case errors.Is(err, session.ErrUnknownOutcome):
		applied, err = w.resolveOutcome(p, err)
	}
	if applied {
		w.pace.Won(took)
		w.cuts = 0
		w.doubt = nil // of two writes at one version the other was not carried out
		w.r.onApplied(p, batch)
		w.readBehind(behind, at)
		return nil
	}
	return w.onSessionLoss(ctx, batch, at, err)
}

// commit sends the transaction; while other clients write too, a read is sent behind
// it: a write of theirs right after this one does not cost the next write the race.
func (w *writer) commit(p plan) ([]session.Result, *session.Future[session.Seen], error) {
	txn := w.s.StartTxn(p.txn(w.r.path, w.marker)...)
	var behind *session.Future[session.Seen]
	if w.pace.Contended() {
		behind = w.s.StartGet(w.r.path, false)
	}
	results, err := txn.Wait(w.s.Context())
	return results, behind, err
}
