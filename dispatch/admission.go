package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// openOrClose closes the queue when the number of unfinished tasks reaches the limit, and
// opens the queue again when the number has dropped far enough. A queue that was closed by
// hand is opened as well.
func (t *mastership) openOrClose(ctx context.Context, tasks int) error {
	var next edit
	switch {
	case t.open && tasks >= t.limit:
		next = deleteNode(t.store.openPath(), -1)
	case !t.open && tasks <= reopensAt(t.limit):
		next = createNode(t.store.openPath(), nil)
	default:
		return nil
	}
	err := t.applyGuarded(ctx, func(tx *stm.Tx) error { return transaction{next}.addTo(tx, t.create) })
	if t.isDeposed(err) {
		return err
	}
	if err == nil || isConflict(err) {
		// A conflict: the last try, whose answer was lost, has written it.
		t.open = !t.open
		return nil
	}
	return err
}

// prepareQueue makes the queue, unless it exists, and reads, or changes, how many tasks
// it takes.
func (t *mastership) prepareQueue(ctx context.Context) error {
	for tries := 1; ; tries++ {
		err := t.readAdmission(ctx)
		if t.isDeposed(err) || !isConflict(err) || tries == maxWrites {
			return err
		}
		// The znode was deleted in the meantime.
	}
}

func (t *mastership) readAdmission(ctx context.Context) error {
	if err := t.ensureCreated(ctx, t.s); err != nil {
		return err
	}
	r := newReading(ctx, t.s)
	r.Sync(t.at(admissionDir))
	nodes := r.GetAll(t.at(admissionDir), t.store.openPath(), t.signalPath())
	data, open := nodes[0], nodes[1].Exists
	switch {
	case r.Err != nil:
		return r.Err
	case !data.Exists:
		return optimistic.ErrChanged
	}
	t.schedules.noteSignal(nodes[2])
	l, err := t.decodeLimits(data.Data)
	if err != nil {
		return err
	}
	limit := cmp.Or(t.opts.MaxTasks, l.MaxTasks, t.limit, defaultMaxTasks)
	t.open, t.limit, t.version = open, limit, data.Stat.Version
	t.updateScheduler(func(sc *scheduler) { sc.limit, sc.paused = limit, l.Paused != nil })
	if limit == l.MaxTasks && !t.clock.local.IsZero() {
		return nil
	}
	next := data.Data // written once at least: that tells the servers' time
	if limit != l.MaxTasks {
		l.Format, l.MaxTasks = format, limit
		next = encode(l)
	}
	return t.setAdmission(ctx, next, data.Stat)
}

// refreshAdmission reads admission again if it may have changed.
func (t *mastership) refreshAdmission(ctx context.Context) error {
	if !t.stale.Swap(false) {
		return nil
	}
	return t.retryInSession(ctx, func() error { return t.prepareQueue(ctx) })
}

// decodeLimits decodes the limits of the queue. Garbage has none: the master replaces it.
func (st *store) decodeLimits(data []byte) (limits, error) {
	l, err := decode[limits](data)
	if isNewer(err) {
		return limits{}, fmt.Errorf("%s: %w", st.at(admissionDir), err)
	}
	if err != nil {
		l = limits{} // not a part of the garbage
	}
	return l, nil
}

// setAdmission writes admission, which was read with that stat, and tells the servers' time.
func (t *mastership) setAdmission(ctx context.Context, next []byte, was session.Stat) error {
	first := true
	results, err := t.store.applyResults(ctx, func(tx *stm.Tx) error {
		if !first {
			return optimistic.ErrChanged
		}
		first = false
		return errors.Join(tx.Guard(t.l.Guard()), tx.Assume(stm.Node{Path: t.at(admissionDir), Exists: true, Stat: was}),
			tx.Set(t.at(admissionDir), next))
	})
	if err == nil {
		t.clock.setTo(results[0].Stat)
		t.version = results[0].Stat.Version
	}
	return err
}
