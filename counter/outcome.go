package counter

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// lost goes on after a batch that was not carried out, or of which nobody can
// tell, for the reason err; nil if it is only known that it was not.
func (w *writer) lost(ctx context.Context, batch []*op, behind *session.Future[session.Seen], at uint64, err error) error {
	switch {
	case errors.Is(err, session.ErrUnknownOutcome):
		return w.leaveOpen(batch)
	case err == nil: // its connection was lost
		w.r.putBack(batch)
		w.cuts++
		return w.s.BackOff(ctx, w.cuts-1)
	}
	w.r.putBack(batch)
	switch {
	case session.NotSent(err):
		// Wait for a connection; who leaves meanwhile knows that his change was
		// not made, and who comes is carried along.
		return w.s.Sync(ctx, w.r.path)
	case errors.Is(err, session.ErrBadVersion):
		w.known = false
		return w.yield(ctx, behind, at)
	case errors.Is(err, session.ErrNoNode):
		w.known, w.marker = false, "" // somebody deleted it, perhaps with the counter
		return nil
	}
	return err
}

// yield waits a little for the others, if races were lost before, and learns
// what they have written.
func (w *writer) yield(ctx context.Context, behind *session.Future[session.Seen], at uint64) error {
	pause := w.pace.lost()
	if pause == 0 && w.overhear(behind, at) {
		return nil
	}
	wait(ctx, w.s, pause)
	// No sync: the refusal was answered, so this server knows of the write that
	// was the cause. It may know no younger one, which is why the changes that
	// came since then are not among those up to at.
	data, stat, err := w.s.Get(w.s.Context(), w.r.path)
	switch {
	case errors.Is(err, session.ErrNoNode):
		w.marker = ""
	case err != nil:
		return err
	default:
		w.saw(stateOf(data, stat), at)
	}
	return nil
}

// overhear takes what the read behind a transaction has seen, and reports
// whether there was one.
func (w *writer) overhear(behind *session.Future[session.Seen], at uint64) bool {
	if behind == nil {
		return false
	}
	seen, err := behind.Wait(w.s.Context())
	if err == nil {
		w.saw(stateOf(seen.Data, seen.Stat), at)
	}
	return err == nil
}

// findOut tells from the marker whether the plan's transaction, of which reason
// says that no answer came, was carried out. If it cannot be told the error
// wraps ErrUnknownOutcome.
func (w *writer) findOut(p plan, reason error) (applied bool, err error) {
	life := w.s.Context()
	now, err := behind(life, w.s, w.marker, func() (int64, error) {
		stat, _, err := w.s.Exists(life, w.marker)
		return stat.Mzxid, err // 0 if it is gone
	})
	switch {
	case err == nil && now != 0 && now != w.mark:
		w.mark, w.known = now, false // others may have written since
		return true, nil
	case err == nil && now == w.mark:
		return false, nil // and what was known is as true as before
	case err != nil && w.s.Err() != nil:
		reason = errors.Join(reason, w.s.Err())
	}
	if w.doubt == nil {
		w.doubt = &doubt{czxid: w.now.czxid, version: p.version, reason: reason}
	}
	return false, unknown(w.r.path, reason)
}

// leaveOpen keeps a batch of which nobody can tell whether it was carried out,
// as long as the next write can settle it.
func (w *writer) leaveOpen(batch []*op) error {
	w.known, w.marker = false, ""
	if w.r.block > 0 { // what may have been reserved is skipped
		w.doubt = nil
		return nil
	}
	w.r.doubt(batch)
	if w.doubt.version == anyVersion { // the write depended on nothing
		w.r.answerDoubted(w.doubt.reason)
		w.doubt = nil
	}
	return nil
}
