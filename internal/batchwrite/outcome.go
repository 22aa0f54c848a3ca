package batchwrite

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/session"
)

// onFailure continues after a batch that was not carried out, or has an
// unknown outcome, because of err; err is nil if the marker shows that the
// batch was not carried out.
func (w *writer[T]) onFailure(ctx context.Context, ops []*op[T], at uint64, err error) error {
	switch {
	case errors.Is(err, session.ErrUnknownOutcome):
		return w.leavePending(ops)
	case err == nil: // its connection was lost
		w.r.putBack(ops)
		w.cuts++
		return w.s.BackOff(ctx, w.cuts-1)
	}
	w.r.putBack(ops)
	switch {
	case session.NotSent(err):
		// Wait for a connection; a caller that leaves meanwhile knows that its
		// change was not made, and changes of new callers join the batch.
		return w.s.Sync(ctx, w.r.path)
	case errors.Is(err, session.ErrBadVersion):
		w.known = false
		w.conflicts++
		return w.backOff(ctx, at)
	case errors.Is(err, session.ErrNoNode):
		w.known, w.marker = false, "" // deleted by hand, perhaps with the znode
		return nil
	}
	return err
}

// backOff waits a little for the other writers, if races were lost before, and
// reads their state.
func (w *writer[T]) backOff(ctx context.Context, at uint64) error {
	backoff.Wait(ctx, w.s, w.backoff.Lost())
	// No sync: the refusal was answered, so this server knows of the write that
	// was the cause. The server may not know later writes, so changes that came
	// since then are not included in at.
	data, stat, err := w.s.Get(w.s.Context(), w.r.path)
	switch {
	case errors.Is(err, session.ErrNoNode): // found out by the next round
	case err != nil:
		return err
	default:
		w.observe(stateOf(data, stat), at)
	}
	return nil
}

// readBehind takes the state seen by the read behind a transaction, if a read
// was sent.
func (w *writer[T]) readBehind(behind *session.Future[session.Seen], at uint64) {
	if behind == nil {
		return
	}
	if seen, err := behind.Wait(w.s.Context()); err == nil {
		w.observe(stateOf(seen.Data, seen.Stat), at)
	}
}

// resolveOutcome tells by the marker whether an unanswered transaction, which depended
// on version, was carried out; reason is its error. If the marker does not tell, the error
// wraps ErrUnknownOutcome.
func (w *writer[T]) resolveOutcome(version int32, reason error) (applied bool, err error) {
	life := w.s.Context()
	var now int64 // 0 if the marker is gone
	err = w.s.ReadFresh(life, w.marker, func() error {
		stat, _, err := w.s.Exists(life, w.marker)
		now = stat.Mzxid
		return err
	})
	switch {
	case err == nil && now != 0 && now != w.mark:
		w.mark, w.known = now, false // others may have written since
		return true, nil
	case err == nil && now == w.mark:
		return false, nil // the known state stays valid
	case err != nil && w.s.Err() != nil:
		reason = errors.Join(reason, w.s.Err())
	}
	if w.pending == nil {
		w.pending = &pendingWrite{node: w.now.Node, version: version, reason: reason}
	}
	return false, unknownOutcome(w.r.path, reason)
}

// leavePending keeps a batch of unknown outcome, as long as the next write can
// settle the outcome.
func (w *writer[T]) leavePending(ops []*op[T]) error {
	w.known, w.marker = false, ""
	if w.r.o.Stock != nil { // possibly reserved results are skipped
		w.pending = nil
		return nil
	}
	w.r.markPending(ops)
	if w.pending.version == AnyVersion { // the write depended on nothing
		w.r.answerPending(w.pending.reason)
		w.pending = nil
	}
	return nil
}
