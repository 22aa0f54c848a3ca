package session

import (
	"container/list"
	"iter"
)

// holdQueue has a lease renewer's holds, the one that was checked longest ago first. To add a
// hold and to remove it, from wherever in the queue, take constant time: that happens
// under the lease renewer's mu, and a session may release thousands of holds at once.
//
// To find the holds whose znodes are not watched yet takes no look at the others: a
// heartbeat does it, however many there are.
type holdQueue struct {
	holds list.List
	bare  list.List // those of holds without a watch
	// visits counts how many holds the methods have looked at; tests compare it.
	visits int
}

func (q *holdQueue) len() int { return q.holds.Len() }

// add puts h last; watched says that a watch on its znode is set.
func (q *holdQueue) add(h *Hold, watched bool) {
	q.visits++
	h.place = q.holds.PushBack(h)
	if !watched {
		q.markUnwatched(h)
	}
}

// markUnwatched notes that no watch on the znode of h is set, if h is in the queue.
func (q *holdQueue) markUnwatched(h *Hold) {
	if h.place != nil && h.bare == nil {
		h.bare = q.bare.PushBack(h)
	}
}

// markWatched notes that a watch on the znode of h is asked for, and reports whether it was
// not before.
func (q *holdQueue) markWatched(h *Hold) bool {
	if h.bare == nil {
		return false
	}
	q.bare.Remove(h.bare)
	h.bare = nil
	return true
}

// unwatched are up to n holds without a watch.
func (q *holdQueue) unwatched(n int) []*Hold {
	var out []*Hold
	for e := q.bare.Front(); e != nil && len(out) < n; e = e.Next() {
		q.visits++
		out = append(out, e.Value.(*Hold)) //nolint:forcetypeassert // disarm puts nothing else in
	}
	return out
}

// remove takes h out, if it is in the queue.
func (q *holdQueue) remove(h *Hold) {
	q.visits++
	if h.place != nil {
		q.holds.Remove(h.place)
		h.place = nil
	}
	q.markWatched(h)
}

// requeue puts h, which is in the queue, last.
func (q *holdQueue) requeue(h *Hold) {
	q.visits++
	q.holds.MoveToBack(h.place)
}

// all iterates over the holds. The loop's body must not change the queue.
func (q *holdQueue) all() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		for e := q.holds.Front(); e != nil; e = e.Next() {
			q.visits++
			if !yield(e.Value.(*Hold)) { //nolint:forcetypeassert // add puts nothing else in
				return
			}
		}
	}
}

// drain empties the queue and returns what was in it.
func (q *holdQueue) drain() []*Hold {
	out := make([]*Hold, 0, q.len())
	for h := range q.all() {
		h.place, h.bare = nil, nil
		out = append(out, h)
	}
	q.holds.Init()
	q.bare.Init()
	return out
}
