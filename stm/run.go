package stm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/session"
)

// run is one call of Apply.
type run struct {
	t *Transactor
	f func(*Tx) error

	// verdict is the result of the call, unless the call ends with its context
	// or client; own is set if the verdict is the error of f.
	verdict error
	own     bool
	// results are those of the writes.
	results []session.Result

	// attempts and unanswered, for the observer, count the calls of f, and the writes
	// without a reply.
	attempts, unanswered int

	conflicts int
	backoff   backoff.Backoff
	// lost counts transactions whose connection was lost.
	lost    int
	pending *pendingTxn
	// open are the attempts without a marker whose replies are missing.
	open []*pendingTxn
	// queued is set after entering the queue. leave leaves the queue, and may be
	// nil.
	queued bool
	leave  func()
}

// errAgain: the attempt has failed, and the next one may succeed.
var errAgain = errors.New("another attempt is needed")

// errUntold: neither the marker nor the znodes tell the outcome of a transaction.
var errUntold = errors.New("nothing on the servers tells whether it was applied")

// endCall ends the call with verdict. While a transaction is pending, the outcome is
// unknown, whatever else has happened.
func (r *run) endCall(verdict error, own bool) error {
	r.verdict, r.own = verdict, own
	switch {
	case r.pending != nil:
		r.verdict, r.own = r.pending.unknownError(verdict), false
	case verdict != nil && len(r.open) > 0:
		r.verdict, r.own = r.open[0].unknownError(verdict), false
	}
	return nil
}

// inSession makes attempts in one session until the call ends. Errors are for
// session.Client.Retry, which calls inSession again after the loss of a
// connection or of the session.
func (r *run) inSession(ctx context.Context, s *session.Session) error {
	for {
		over, err := r.resolvePending(ctx, s)
		if over || err != nil {
			return err
		}
		err = r.makeAttempt(ctx, s)
		switch {
		case !errors.Is(err, errAgain):
			return err
		case r.conflicts > r.t.opts.MaxConflicts:
			return r.endCall(fmt.Errorf("%w: %d; the last one: %w", ErrConflicts, r.conflicts, err), false)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// resolvePending finds out the outcome of the pending transaction. over reports
// the end of the call.
func (r *run) resolvePending(ctx context.Context, s *session.Session) (over bool, err error) {
	if r.pending == nil {
		return false, nil
	}
	out, err := r.pending.findOutcome(ctx, s)
	switch {
	case err != nil:
		return false, err
	case out == applied:
		r.pending = nil
		return true, r.endCall(nil, false)
	case out == notApplied:
		r.pending = nil
		return false, nil
	}
	return true, r.endCall(errUntold, false)
}

// makeAttempt calls f once and carries out the requested writes.
func (r *run) makeAttempt(ctx context.Context, s *session.Session) error {
	fresh := r.conflicts > 0
	tx := &Tx{
		ctx: ctx, s: s, t: r.t, fresh: fresh, nodes: map[string]*entry{},
		unanswered: len(r.open) > 0, assumes: !fresh && len(r.open) == 0 && r.lost == 0,
	}
	r.attempts++
	err := r.f(tx)
	tx.over = true
	if tx.failed != nil {
		return tx.failed
	}
	if errors.Is(tx.refused, ErrVersion) && !fresh {
		r.conflicts++ // the server may lag behind; no condition can prove this
		return errAgain
	}
	own := err != nil && !errors.Is(err, tx.refused)
	if err == nil {
		err = tx.refused
	}
	if err != nil || len(tx.writes)+len(tx.guards) == 0 {
		return r.proveReads(ctx, s, tx, err, own)
	}
	if unread := tx.findAbsentAncestors(tx.conditionalPaths()); unread != nil {
		return unread
	}
	if !tx.hasWrites() {
		return r.proveConditions(ctx, s, tx, planAll(tx), nil, false)
	}
	return r.commitWrites(ctx, s, tx)
}

// proveReads ends the call with verdict if all reads are true at one moment.
func (r *run) proveReads(ctx context.Context, s *session.Session, tx *Tx, verdict error, own bool) error {
	if path := tx.onlyAbsent(); path != "" {
		return r.proveAbsent(ctx, s, tx, path, verdict, own)
	}
	if unread := tx.findAbsentAncestors(nil); unread != nil {
		return unread
	}
	return r.proveConditions(ctx, s, tx, planReads(tx), verdict, own)
}

// proveAbsent ends the call with verdict if path, the only read znode, is
// absent. The proof is a fresh read, without a write.
func (r *run) proveAbsent(ctx context.Context, s *session.Session, tx *Tx, path string, verdict error, own bool) error {
	_, exists, err := existsFresh(ctx, s, path)
	switch {
	case err != nil:
		return err
	case exists:
		return r.noteConflict(ctx, s, errAgain)
	}
	r.refuteOpen(tx)
	return r.endCall(verdict, own)
}

// proveConditions sends a request without changes, and ends the call with verdict if all
// conditions of the request hold: the reads of tx are then true.
func (r *run) proveConditions(ctx context.Context, s *session.Session, tx *Tx, p plan, verdict error, own bool) error {
	if len(p.ops) == 0 {
		return r.endCall(verdict, own)
	}
	_, err := s.Txn(ctx, p.ops...)
	var unanswered *session.UnknownOutcomeError
	switch {
	case err == nil:
		r.refuteOpen(tx)
		return r.endCall(verdict, own)
	case errors.As(err, &unanswered):
		return unanswered.Reason // the request changes nothing: no outcome is unknown
	}
	return r.interpretFailure(ctx, s, nil, p, err)
}

// commitWrites sends the transaction's writes, and ends the call when they are applied.
func (r *run) commitWrites(ctx context.Context, s *session.Session, tx *Tx) error {
	p := planAll(tx)
	if r.t.idempotent {
		return r.commitUnmarked(ctx, s, tx, p)
	}
	m, err := r.t.markers.takeMarker(ctx, s)
	if err != nil {
		return err
	}
	p.add(markerRole, m.setOp())
	began := time.Now()
	results, err := r.t.send(ctx, s, tx, p)
	out := applied
	switch {
	case err == nil:
		r.results = p.resultsOfWrites(results)
	case errors.Is(err, session.ErrUnknownOutcome):
		r.unanswered++
		out, err = r.resolveOutcome(ctx, s, m, tx, err)
	case err != nil:
		out = notApplied
		if p.failedAt(err) == markerRole {
			out = unknown // an operator has deleted or changed the marker
		}
		err = r.interpretFailure(ctx, s, tx, p, err)
	}
	switch out {
	case applied:
		m.version++
		r.t.markers.putBack(s, m)
		r.backoff.Won(time.Since(began))
		return r.endCall(nil, false)
	case notApplied:
		r.t.markers.putBack(s, m)
	default:
		if r.pending == nil {
			r.t.markers.dropMarker(s, m)
		}
	}
	return err
}

// resolveOutcome finds out the outcome of the transaction, if err means a missing
// reply. Otherwise resolveOutcome returns the error for this attempt.
func (r *run) resolveOutcome(ctx context.Context, s *session.Session, m *marker, tx *Tx, err error) (outcome, error) {
	out, unread := m.readOutcome(ctx, s)
	switch {
	case out == applied:
		return out, nil
	case out == notApplied:
		// A transaction that costs the connection each time must not be repeated
		// at the speed of the network.
		r.lost++
		if over := s.BackOff(ctx, r.lost-1); over != nil {
			return out, over
		}
		return out, errAgain
	case ctx.Err() != nil:
		return out, err
	}
	// The session is lost, or an operator has deleted the marker: the znodes may tell,
	// in the next session or in this one.
	if unread == nil {
		r.pending = newPendingTxn(tx, m, err)
		return out, errAgain
	}
	r.pending = newPendingTxn(tx, m, fmt.Errorf("%w: %w", unread, err))
	return out, unread
}

// interpretFailure interprets the failure of a request. tx is nil for a request without
// changes.
func (r *run) interpretFailure(ctx context.Context, s *session.Session, tx *Tx, p plan, err error) error {
	exists, absent := errors.Is(err, session.ErrNodeExists), errors.Is(err, session.ErrNoNode)
	conflict := false
	what := p.failedAt(err)
	switch what {
	case noRole:
		return err
	case guardRole:
		return r.endCall(fmt.Errorf("%w: %w", ErrGuard, err), false)
	case readRole, markerRole:
		conflict = exists || absent || errors.Is(err, session.ErrBadVersion)
	case createRole:
		conflict = exists // a missing parent is the caller's mistake
	}
	switch {
	case conflict:
		return r.noteConflict(ctx, s, fmt.Errorf("%w: %w", errAgain, err))
	case tx != nil:
		// The server refuses a write. The refusal is the caller's error if the
		// reads of f are true.
		return r.proveReads(ctx, s, tx, err, false)
	}
	return r.endCall(err, false)
}
