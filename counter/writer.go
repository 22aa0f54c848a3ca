package counter

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// writer carries batches out, one at a time: a transaction that sets the counter
// if it has the version that is known, and the writer's own marker. Whether it
// was carried out can be told from the marker afterwards, however many others
// have written since.
//
// The marker is below the counter, so that a version known since the marker was
// made is never mistaken for that of another node: whoever deletes the counter
// must delete the marker first, and then the transaction fails for want of it,
// whatever versions the counter has had since it was made again.
type writer struct {
	r *register
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
	doubt *doubt
	pace  pace
	// cuts is how many transactions have cost the connection, since one was
	// carried out.
	cuts int
}

// doubt is a write of which nothing tells whether it was carried out. It
// depended on a version of a node. While the node still has it, the next write
// that depends on the same version settles it: at most one of them is carried
// out. Later nothing does.
type doubt struct {
	czxid   int64
	version int32
	reason  error
}

// open reports whether the doubt can still be settled.
func (d *doubt) open(now state) bool { return now.czxid == d.czxid && now.version == d.version }

// round carries out one batch, or finds out what it must know before. An error
// is one that everybody in line gets.
//
// ctx, which ends when nobody waits any more, bounds the waiting for a session, a
// connection or other writers. What was sent has the session's life: its answer
// is what the next caller needs to know, and one whose patience is shorter than
// what the first change of a session takes would otherwise never get through,
// however often he tries.
func (w *writer) round(ctx context.Context) error {
	s, err := w.r.client.Session(ctx)
	if err == nil {
		err = w.prepare(s.Context(), s)
	}
	if err == nil && w.known {
		err = w.carryOut(ctx)
	}
	if session.Passing(err) {
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
		if err := w.enter(ctx); err != nil {
			return err
		}
	}
	if !w.known {
		if err := w.look(ctx); err != nil {
			return err
		}
	}
	if w.known && w.doubt != nil && !w.doubt.open(w.now) {
		w.r.answerDoubted(w.doubt.reason)
		w.doubt = nil
	}
	return nil
}

// enter makes the marker, and the counter if it is missing, and reads it.
func (w *writer) enter(ctx context.Context) error {
	w.known = false
	o := &session.CreateOptions{ACL: w.r.acl}
	for {
		at := w.r.arrived()
		creation := w.s.StartProtected(newMarker(w.r.path), nil, session.Ephemeral, o)
		behind := w.s.StartGet(w.r.path, false)
		node, err := creation.Wait(ctx)
		if errors.Is(err, session.ErrNoNode) {
			if err := ensure(ctx, w.s, w.r.path, w.r.initial, o); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		w.marker, w.mark = node.Path, node.Stat.Mzxid
		if seen, err := behind.Wait(ctx); err == nil && creation.Direct() {
			w.saw(stateOf(seen.Data, seen.Stat), at)
		}
		return nil
	}
}

func (w *writer) saw(now state, at uint64) { w.known, w.now, w.seenAt = true, now, at }

// look reads the counter's state as it is now.
func (w *writer) look(ctx context.Context) error {
	at := w.r.arrived()
	now, err := fresh(ctx, w.s, w.r.path)
	switch {
	case err != nil:
		return err
	case now != nil:
		w.saw(*now, at)
	default:
		w.marker = "" // it must have gone before the counter
	}
	return nil
}

// carryOut carries out what is in line, on the state that is known.
func (w *writer) carryOut(ctx context.Context) error {
	batch := w.r.take()
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
		p.settle(w.now)
	}
	if !p.writes {
		w.r.putBack(batch)
		w.conclude(p)
		return nil
	}
	return w.write(ctx, batch, p)
}

// conclude answers ops that change nothing. They must not be judged by what was
// known before they came, since it may have changed; what comes with a write,
// the write confirms.
func (w *writer) conclude(p plan) {
	n := 0
	for n < len(p.ops) && p.ops[n].arrival <= w.seenAt {
		n++
	}
	w.r.answer(p, n)
	if n == 0 {
		w.known = false // to be read again
	}
}

// write sends the plan's transaction and finds out what became of it.
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
		w.saw(stateOf(p.data, results[last-1].Stat), at)
	case errors.Is(err, session.ErrUnknownOutcome):
		applied, err = w.findOut(p, err)
	}
	if applied {
		w.pace.won(took)
		w.cuts = 0
		w.doubt = nil // of two writes at one version the other was not carried out
		w.r.applied(p, batch)
		w.overhear(behind, at)
		return nil
	}
	return w.lost(ctx, batch, behind, at, err)
}

// commit sends the transaction; while others write too, a read is sent behind
// it, so that after a lost race the next try can start at once.
func (w *writer) commit(p plan) ([]session.Result, *session.Future[session.Seen], error) {
	txn := w.s.StartTxn(p.txn(w.r.path, w.marker)...)
	var behind *session.Future[session.Seen]
	if w.pace.contended() {
		behind = w.s.StartGet(w.r.path, false)
	}
	results, err := txn.Wait(w.s.Context())
	return results, behind, err
}
