package dispatch

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// send sends the requests that have room.
func (v *taskView) send() {
	for len(v.lists) > 0 && v.listing < listsInFlight && len(v.queue) < listAhead {
		bucket, gen := v.lists[0], v.gen
		v.lists = v.lists[1:]
		v.listing++
		v.t.s.StartChildren(v.t.at(tasksDir, bucket), false).Then(func(seen session.Seen, err error) {
			v.inbox.put(taskItem{gen: gen, list: true, bucket: bucket, names: seen.Children, err: err})
		})
	}
	// A request that is not full waits until few others are in flight: then it has the
	// events of half a round trip.
	for len(v.queue) > 0 && (v.flying < 2 || v.flying < tasksInFlight && len(v.queue) >= v.size.Next()) {
		batch, paths := []*taskRead{}, []string{}
		for len(v.queue) > 0 && len(batch) < v.size.Next() {
			r := v.queue[0]
			v.queue[0] = nil
			v.queue = v.queue[1:]
			if !r.void {
				r.sent = true
				batch, paths = append(batch, r), append(paths, r.path)
			}
		}
		if len(batch) > 0 {
			v.flying++
			v.sendReads(batch, paths)
		}
	}
}

func (v *taskView) sendReads(batch []*taskRead, paths []string) {
	gen := v.gen
	optimistic.StartReads(v.t.s, paths, func(results []session.Result, err error) {
		v.inbox.put(taskItem{gen: gen, reads: batch, results: results, err: err})
	})
}

// readNext reads tasks of the backlog whose turn comes.
func (v *taskView) readNext() {
	var ids []string
	v.t.mu.Lock()
	sc := v.t.scheduler
	for _, c := range sc.backlog.classes {
		if sc.needsTasksOf(c) {
			ids = append(ids, sc.backlog.takeNext(c, refill)...)
		}
	}
	v.t.mu.Unlock()
	var first []*taskRead
	for _, id := range ids {
		path := v.t.taskPath(id)
		if r := v.reads[path]; r != nil {
			r.due = true
			continue
		}
		r := &taskRead{path: path, due: true}
		v.reads[path] = r
		first = append(first, r)
	}
	v.queue = slices.Concat(first, v.queue)
}

// readUrgent reads tasks before all others, and tells the master when they have been shown.
func (v *taskView) readUrgent(paths []string) {
	var first []*taskRead
	for _, path := range paths {
		r := v.reads[path]
		switch {
		case r == nil:
			r = &taskRead{path: path}
			v.reads[path] = r
			first = append(first, r)
		case !r.sent: // it is somewhere in the queue
			v.queue = slices.DeleteFunc(v.queue, func(other *taskRead) bool { return other == r })
			first = append(first, r)
		}
		if !r.urgent {
			r.urgent = true
			v.urgent++
		}
	}
	v.queue = slices.Concat(first, v.queue)
	v.endUrgent()
}

// endUrgent tells the master when all urgent tasks have been shown.
func (v *taskView) endUrgent() {
	if v.urgent > 0 {
		return
	}
	v.t.updateScheduler(func(*scheduler) {
		if v.t.early == earlyAsked {
			v.t.early = earlyReady
		}
	})
}
