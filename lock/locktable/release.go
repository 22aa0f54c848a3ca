package locktable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Unlock releases any of this owner's locks, in as few transactions as possible. If locks
// were lost before, or were released before, Unlock releases all others, and the error names
// one of these locks and their number, and wraps session.ErrLost and the reason, or
// ErrNotHeld. If ctx ends before the server has confirmed the release, or no server
// answers for a session timeout (also session.ErrLost), the release continues in the
// background until it is done or the owner is gone. ctx may be derived from the context of
// a lock ([session.WithoutRelease]).
func (o *Owner) Unlock(ctx context.Context, locks ...*Held) error {
	o = receiver.OrZero(o)
	const op = "release"
	if err := holding.BeginHeld(ctx, o.t != nil, "locktable.Owner", "locktable.Table", ErrInvalidArgument); err != nil {
		return failure(ctx, op, "", err)
	}
	if err := o.checkLocks(locks); err != nil {
		return failure(ctx, op, o.t.path, err)
	}
	ctx, stop := session.WithoutRelease(ctx)
	defer stop()
	if err := o.unlockHeld(ctx, locks, false); err != nil {
		return failure(ctx, op, o.t.path, err)
	}
	return nil
}

func (o *Owner) checkLocks(locks []*Held) error {
	seen := make(map[*Held]bool, len(locks))
	for _, h := range locks {
		switch {
		case h == nil || h.o == nil:
			return fmt.Errorf("%w: one of the locks is nil or zero", ErrInvalidArgument)
		case h.o != o:
			return fmt.Errorf("%w: the lock %.60q belongs to another owner", ErrInvalidArgument, h.name)
		case seen[h]:
			return fmt.Errorf("%w: the lock %.60q is given twice", ErrInvalidArgument, h.name)
		}
		seen[h] = true
	}
	return nil
}

// endAll ends locks before their release, which makes their names busy. endAll
// returns the held locks, the reasons for the others, functions that end
// the contexts, and the holds whose ends the caller reports.
func (o *Owner) endAll(locks []*Held) (due []*Held, over ended, ends []func(), released reports) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range locks {
		if err := h.lossLocked(); err != nil {
			if errors.Is(err, session.ErrReleased) {
				err = ErrNotHeld
			}
			over.add(h.name, err)
			continue
		}
		ends = append(ends, h.endLocked(session.ErrReleased))
		o.busy[h.name] = struct{}{}
		due = append(due, h)
		if h.watch != nil {
			h.watch.Abandon() // the release fires the watch
			h.watch = nil
		}
	}
	return due, over, ends, o.reports.takeReleases(due)
}

// ended are locks that could not be released because they were not held.
type ended struct {
	lost, released error // of the first lock of either kind
	first          [2]string
	n              [2]int
}

func (e *ended) add(name string, err error) {
	kind, at := 0, &e.lost
	if errors.Is(err, ErrNotHeld) {
		kind, at = 1, &e.released
	}
	if e.n[kind]++; e.n[kind] == 1 {
		e.first[kind], *at = name, err
	}
}

// joinErrors returns an error that names the locks; nil without a lock.
func (e *ended) joinErrors(o *Owner) error {
	var all []error
	for kind, err := range []error{e.lost, e.released} {
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", o.describeLocks(e.first[kind], e.n[kind]), err))
		}
	}
	return errors.Join(all...)
}

// unlockHeld is Unlock of locks of this owner. With again, it is no error that another
// call has released some of them.
func (o *Owner) unlockHeld(ctx context.Context, locks []*Held, again bool) error {
	due, over, ends, released := o.endAll(locks)
	if again {
		over.released = nil
	}
	for _, end := range ends {
		end()
	}
	if len(due) == 0 {
		return over.joinErrors(o)
	}
	lost, err := o.releaseHeld(ctx, due)
	if err != nil {
		released.reportReleased(nil, err)
		return err
	}
	released.reportReleased(lost, nil)
	for _, h := range lost {
		over.add(h.name, errChanged)
	}
	return over.joinErrors(o)
}

// releaseHeld gives locks back, or has that done in the background. lost are the locks
// that were lost before.
func (o *Owner) releaseHeld(ctx context.Context, due []*Held) (lost []*Held, err error) {
	names := heldNames(due)
	within, cancel := o.s.GiveBackContext(ctx)
	defer cancel()
	lost, err = o.giveBack(within, due)
	switch {
	case err == nil:
		o.freeNames(names)
		return lost, nil
	case o.hold.Err() != nil:
		o.freeNames(names)
		return nil, o.hold.Err()
	}
	o.settleLater(names)
	if within.Err() != nil && ctx.Err() == nil {
		err = context.Cause(within) // no server has answered
	}
	return nil, err
}

func heldNames(locks []*Held) []string {
	out := make([]string, len(locks))
	for i, h := range locks {
		out[i] = h.name
	}
	return out
}

// giveBack releases locks, each on condition of the version at which it was
// taken, and of the owner's existence: once the owner has gone, others may have
// taken the lock. After an unanswered transaction, giveBack reads its effect
// before a repetition. lost are the locks no longer owned by this owner.
func (o *Owner) giveBack(ctx context.Context, locks []*Held) (lost []*Held, err error) {
	unclear := false
	err = o.s.Retry(ctx, func() (err error) {
		if unclear {
			if locks, err = o.stillHeld(ctx, locks); err != nil {
				return err
			}
		}
		var missed []*Held
		locks, missed, err = o.sendReleases(ctx, locks)
		lost = append(lost, missed...)
		unclear = true
		return err
	})
	return lost, err
}

// stillHeld returns the locks not yet released by this owner.
func (o *Owner) stillHeld(ctx context.Context, locks []*Held) ([]*Held, error) {
	var out []*Held
	for part := range batches.Of(locks, batches.Window, batches.MaxTxn, func(h *Held) int { return len(h.name) }) {
		entries, err := o.t.readLocks(ctx, o.s, heldNames(part), false)
		if err != nil {
			return locks, err
		}
		for i, e := range entries {
			if e.Owner == o.name && e.version == part[i].version {
				out = append(out, part[i])
			}
		}
	}
	return out, nil
}

// sendReleases releases as many locks as possible. After an error, left are the
// locks with an unknown outcome.
func (o *Owner) sendReleases(ctx context.Context, locks []*Held) (left, lost []*Held, err error) {
	size := batches.PerOp + len(o.t.path) + len((&record{Format: format}).Encode())
	for len(locks) > 0 {
		var next []*Held
		parts := slices.Collect(batches.Of(locks, o.maxLocksPerTxn(), batches.MaxTxn, func(h *Held) int { return size + len(h.name) + keptSize(h) }))
		futures := make([]*session.Future[[]session.Result], len(parts))
		for i, part := range parts {
			futures[i] = o.s.StartTxn(o.releaseOps(part)...)
		}
		for i, part := range parts {
			_, e := futures[i].Wait(ctx)
			at := optimistic.CulpritIndex(e)
			switch {
			case e == nil:
			case at == 0 && errors.Is(e, session.ErrNoNode): // the owner has gone
				lost = append(lost, part...)
			case at > 0 && isStale(e): // not this owner's any more
				lost = append(lost, part[at-1])
				next = append(append(next, part[:at-1]...), part[at:]...)
			case errors.Is(e, session.ErrTooLarge) && o.shrinkTxns(len(part)): // not sent
				next = append(next, part...)
			default:
				left, err = append(left, part...), errors.Join(err, e)
			}
		}
		if locks = next; err != nil {
			return append(left, locks...), lost, err
		}
	}
	return nil, lost, nil
}

func keptSize(h *Held) int {
	if h.kept.Empty() {
		return 0
	}
	return len((&record{Kept: h.kept}).Encode())
}

func (o *Owner) releaseOps(part []*Held) []session.Op {
	ops := []session.Op{o.hold.Guard()}
	for _, h := range part {
		free := (&record{Format: format, Kept: h.kept}).Encode()
		ops = append(ops, session.SetOp(o.t.lockPath(h.name), free, h.version))
	}
	return ops
}
