package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// A slot is over by one transaction of the leading master, which also submits its task. The
// transaction depends on the schedule, and on the record of its last slot, as they were read:
// so a slot is run once, even if its task is gone by then, and never by a schedule that was
// changed or deleted. After a missing reply, the master reads the record again.

const (
	// slotsAtOnce is how many slots are run at a time, before tasks are assigned again.
	slotsAtOnce = 64
	// slotPause is the wait after a slot whose transaction is refused again and again: by the
	// ACL of a znode, or by damage that the master cannot repair.
	slotPause = time.Minute
)

// runSlots runs the slots that are due, if the queue has room, and reports whether any was due.
func (t *mastership) runSlots(ctx context.Context) (ran bool, err error) {
	tb, now := &t.schedules, t.clock.now()
	if !t.open || tb.at.IsZero() || tb.at.After(now) {
		return false, nil
	}
	due := tb.dueAt(now, slotsAtOnce)
	var all sync.WaitGroup
	written, errs := make([]session.Stat, len(due)), make([]error, len(due))
	for i, p := range due {
		// Waited for below; ends with the slot, or with ctx.
		all.Go(func() { written[i], errs[i] = t.runSlot(ctx, p, now) })
	}
	all.Wait()
	var last session.Stat
	for _, stat := range written {
		if stat.Mtime > last.Mtime {
			last = stat
		}
	}
	if last.Mtime > 0 {
		t.clock.setTo(last)
	}
	tb.schedule()
	return len(due) > 0, errors.Join(errs...)
}

// runSlot runs the slot of a schedule that is due, unless the schedule has changed.
func (t *mastership) runSlot(ctx context.Context, p *periodic, now time.Time) (written session.Stat, err error) {
	err = t.retryInSession(ctx, func() error {
		for tries := 1; ; tries++ {
			written, err = t.trySlot(ctx, p, now)
			if t.isDeposed(err) || !isConflict(err) || tries == maxWrites {
				return err
			}
		}
	})
	if err != nil && !t.isDeposed(err) && (isConflict(err) || errors.Is(err, session.ErrNoAuth) || errors.Is(err, session.ErrTooLarge)) {
		p.at, err = now.Add(slotPause), nil
	}
	return written, err
}

// trySlot reads the schedule, and runs its slot, or skips it. A conflict means that something
// has changed since.
func (t *mastership) trySlot(ctx context.Context, p *periodic, now time.Time) (written session.Stat, err error) {
	former, paths := p.last, []string{p.path, lastPath(p.path), t.signalPath()}
	if former.Task != "" {
		paths = append(paths, t.taskPath(former.Task))
	}
	r := newReading(ctx, t.s)
	r.Sync(p.path)
	nodes := p.reads.GetAll(r, paths)
	if r.Err != nil {
		return written, r.Err
	}
	payload := p.read(t.layout, nodes[0], nodes[1])
	if p.gone || p.unreadable {
		return written, nil
	}
	t.reportSent(ctx, p)
	slot, due := p.dueSlot(now)
	switch {
	case !due:
		return written, nil
	case p.last.Task != former.Task || p.last.Run != former.Run:
		return written, optimistic.ErrChanged // the task of another slot was read
	}
	w := slotWrite{p: p, known: conditionsOf(paths[:3], nodes)}
	if former.Task != "" && !p.def.Overlap {
		node, ended := t.checkFormer(former, nodes[3])
		if !ended {
			w.next = former
			w.next.Skipped = slot
			return t.writeSlot(ctx, &w)
		}
		if node != nil {
			w.known = append(w.known, *node)
		}
	}
	return t.submitSlot(ctx, &w, slot, payload)
}

// conditionsOf are the znodes as they were read, for a transaction. The znode that tells of
// changes, the last one, is no condition if it was deleted by hand.
func conditionsOf(paths []string, nodes []session.Seen) (out []stm.Node) {
	for i, path := range paths {
		if nodes[i].Exists || i < len(paths)-1 {
			out = append(out, stm.Node{Path: path, Exists: nodes[i].Exists, Stat: nodes[i].Stat})
		}
	}
	return out
}

// checkFormer reports whether the task of the former slot has ended, as it was read behind its
// last slot. The condition is that task, which can be requeued; nil if the task is gone: a run
// that is gone never comes back. A task that cannot be read may not have ended.
func (t *mastership) checkFormer(former lastSlot, read session.Seen) (condition *stm.Node, ended bool) {
	task, err := t.decodeSeen(t.taskPath(former.Task), read)
	switch {
	case err != nil:
		return nil, false
	case task == nil || former.Run != "" && task.Run != former.Run:
		return nil, true
	}
	node := task.asNode(t.layout)
	return &node, task.State.Finished()
}

// slotWrite is the transaction of a slot.
type slotWrite struct {
	p *periodic
	// known are the znodes that the transaction depends on, first the schedule and its last
	// slot.
	known []stm.Node
	next  lastSlot
	// edits submit the task.
	edits transaction
}

// writeSlot makes the last slot w.next, and carries out the edits. Without a reply, it returns a
// conflict.
func (t *mastership) writeSlot(ctx context.Context, w *slotWrite) (written session.Stat, err error) {
	w.next.Format = format
	first := true
	results, err := t.store.applyResults(ctx, func(tx *stm.Tx) error {
		if !first {
			return optimistic.ErrChanged
		}
		first = false
		err := tx.Guard(t.l.Guard())
		for _, node := range w.known {
			err = errors.Join(err, tx.Assume(node))
		}
		last, data := w.known[1], encode(w.next)
		if last.Exists {
			err = errors.Join(err, tx.Set(last.Path, data))
		} else {
			err = errors.Join(err, tx.Create(last.Path, data, session.Persistent, t.create))
		}
		return errors.Join(err, w.edits.addTo(tx, t.create))
	})
	if errors.Is(err, session.ErrUnknownOutcome) {
		return written, optimistic.ErrChanged
	}
	if err != nil {
		return written, err
	}
	w.p.last = w.next
	w.p.at, _ = w.p.def.SlotAfter(w.p.over())
	return results[0].Stat, nil
}

// submitSlot submits the task of a slot.
func (t *mastership) submitSlot(ctx context.Context, w *slotWrite, slot time.Time, payload []byte) (written session.Stat, err error) {
	p := w.p
	rec := slotRecord(p.def, slot, payload, t.clock.now())
	data, task := t.dataPath(rec.ID, rec.Run), t.taskPath(rec.ID)
	w.next = lastSlot{Slot: slot, Task: rec.ID, Run: rec.Run}
	w.edits = transaction{requireNode(t.store.openPath()), createNode(data, payload), createNode(task, encode(rec))}
	p.sent = rec
	written, err = t.writeSlot(ctx, w)
	t.reportSent(ctx, p)
	path, reason := optimistic.Culprit(err)
	missing := errors.Is(reason, session.ErrNoNode)
	switch {
	case err == nil || t.isDeposed(err):
		return written, err
	case missing && path == t.store.openPath():
		t.stale.Store(true) // the queue was closed by hand
		t.updateScheduler(func(*scheduler) {})
		return written, nil
	case missing && (path == data || path == task):
		if err := t.makeBucket(ctx, rec.ID); err != nil {
			return written, err
		}
		return written, optimistic.ErrChanged
	case errors.Is(reason, session.ErrNodeExists) && path == task:
		return t.adoptTask(ctx, w)
	}
	return written, err
}

// adoptTask has the task that exists count as the task of the slot.
func (t *mastership) adoptTask(ctx context.Context, w *slotWrite) (written session.Stat, err error) {
	task, err := t.readTask(ctx, t.s, w.next.Task)
	switch {
	case errors.Is(err, ErrRecord):
		w.next.Run = ""
	case err != nil:
		return written, err
	case task == nil:
		return written, optimistic.ErrChanged
	default:
		w.next.Run = task.Run
	}
	w.edits = nil
	return t.writeSlot(ctx, w)
}

// reportSent reports the submission of p, if the last slot shows that it was carried out.
func (t *mastership) reportSent(ctx context.Context, p *periodic) {
	if p.sent.Run != "" && p.last.Run == p.sent.Run {
		t.reportChange(ctx, &seen{record: record{ID: p.sent.ID}}, p.sent, time.Time{})
		p.sent = record{}
	}
}

// untilSlot is the time until the next slot; at most the given time.
func (t *mastership) untilSlot(most time.Duration) time.Duration {
	if !t.open || t.schedules.at.IsZero() {
		return most
	}
	return min(most, t.schedules.at.Sub(t.clock.now()))
}
