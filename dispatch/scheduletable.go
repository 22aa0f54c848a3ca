package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// scheduleTable is a master's knowledge of the schedules; the loop's. The master reads the
// schedules when the znode that each change writes has changed, and, once a minute, when their
// names are not those that it knows. Before a slot it reads the schedule again.
type scheduleTable struct {
	items map[string]*periodic // by znode
	// at is when something is to be done next, by the servers' clock; zero: never.
	at time.Time
	// signal is the mzxid of the znode that tells of changes, as it was seen last; 0: it did
	// not exist. stale: the schedules must be read.
	signal int64
	stale  bool
	reads  optimistic.Batches
}

// periodic is a schedule as the master knows it. While a slot is run, it belongs to the
// goroutine that runs the slot.
type periodic struct {
	path string
	def  definition
	// begin is the time after which the slots begin that are run.
	begin time.Time
	last  lastSlot
	// at is when something is to be done next, by the servers' clock; zero: never, as of a
	// schedule that cannot be read.
	at         time.Time
	unreadable bool
	gone       bool
	reads      optimistic.Batches
	// sent is the task of a transaction whose reply is missing, for an observer.
	sent record
}

// noteSignal notes the znode that tells of changed schedules, as it was read.
func (tb *scheduleTable) noteSignal(node session.Seen) {
	if node.Exists && node.Stat.Mzxid != tb.signal {
		tb.stale = true
	}
	tb.signal = node.Stat.Mzxid
}

// schedule finds out when something is to be done next.
func (tb *scheduleTable) schedule() {
	tb.at = time.Time{}
	for node, p := range tb.items {
		if p.gone {
			delete(tb.items, node)
		} else if !p.at.IsZero() && (tb.at.IsZero() || p.at.Before(tb.at)) {
			tb.at = p.at
		}
	}
}

// dueAt are the schedules with something to be done at a time, at most as many, and those that
// have waited longest.
func (tb *scheduleTable) dueAt(now time.Time, max int) (out []*periodic) {
	for _, p := range tb.items {
		if !p.at.IsZero() && !p.at.After(now) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *periodic) int { return a.at.Compare(b.at) })
	return out[:min(len(out), max)]
}

// read takes over a schedule and its last slot, as they were read, and returns the payload.
func (p *periodic) read(l layout, def, last session.Seen) (payload []byte) {
	var err, lastErr error
	p.def, payload, err = l.decodeSchedule(p.path, def.Data)
	p.last, lastErr = decodeLast(p.path, last)
	p.gone, p.unreadable, p.at = !def.Exists, errors.Join(err, lastErr) != nil, time.Time{}
	if p.gone || p.unreadable {
		return nil
	}
	p.begin = p.def.Begin(time.UnixMilli(def.Stat.Mtime))
	p.at, _ = p.def.SlotAfter(p.over())
	return payload
}

// over is the time up to which no slot is run any more.
func (p *periodic) over() time.Time { return latest(p.begin, p.last.Over()) }

// dueSlot is the slot that is to be run at a time: the last one, unless it is over.
func (p *periodic) dueSlot(now time.Time) (slot time.Time, due bool) {
	slot, ok := p.def.SlotAt(now)
	return slot, ok && slot.After(p.over())
}

// auditSchedules has the schedules read if znodes were created or deleted by hand. A schedule
// that cannot be read may have been mended.
func (t *mastership) auditSchedules(r *optimistic.Reading, hasFolder bool) {
	tb := &t.schedules
	var names []string
	if hasFolder {
		names = r.List(t.at(schedulesDir))
	}
	known := len(names) == len(tb.items)
	for _, name := range names {
		p := tb.items[name]
		known = known && p != nil && !p.unreadable
	}
	tb.stale = tb.stale || !known
}

// readSchedules reads all schedules, unless nothing has changed. Those that the master may not
// read are left out.
func (t *mastership) readSchedules(ctx context.Context) error {
	tb := &t.schedules
	if !tb.stale {
		return nil
	}
	r := newReading(ctx, t.s)
	r.Sync(t.at(schedulesDir))
	names := r.List(t.at(schedulesDir))
	paths := t.pathsOfSchedules(names)
	nodes := tb.reads.GetAll(r, paths)
	for tries := 0; errors.Is(r.Err, optimistic.ErrChanged) && tries < maxWrites; tries++ {
		r.Err = nil // the reply was too long
		nodes = tb.reads.GetAll(r, paths)
	}
	if errors.Is(r.Err, session.ErrNoAuth) {
		r.Err = nil
		nodes, _ = r.GetReadable(paths...)
	}
	if errors.Is(r.Err, session.ErrNoAuth) { // the folder
		r.Err, names = nil, nil
	}
	if r.Err != nil {
		return r.Err
	}
	items := map[string]*periodic{}
	for i, name := range names {
		p := tb.items[name]
		if p == nil {
			p = &periodic{path: t.scheduleNode(name)}
		}
		p.read(t.layout, nodes[2*i], nodes[2*i+1])
		items[name] = p
	}
	tb.items, tb.stale = items, false
	tb.schedule()
	return nil
}
