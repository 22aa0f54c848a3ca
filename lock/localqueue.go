package lock

import "container/list"

// waiter is a goroutine waiting for its turn in this process.
type waiter struct {
	turn  chan turn // cap 1
	place *list.Element
}

// localQueue is the queue of a process, first in, first out. To join, to leave, from
// wherever in the queue, and to be served take constant time: they happen under the
// Mutex's mu, and thousands of contexts may end at once.
type localQueue struct{ waiters list.List }

// join queues up.
func (q *localQueue) join() *waiter {
	w := &waiter{turn: make(chan turn, 1)}
	w.place = q.waiters.PushBack(w)
	return w
}

// leave removes w, and reports whether w was still in the queue.
func (q *localQueue) leave(w *waiter) bool {
	if w.place == nil {
		return false
	}
	q.waiters.Remove(w.place)
	w.place = nil
	return true
}

// serve removes the first waiter, and gives it t; false without a waiter.
func (q *localQueue) serve(t turn) bool {
	front := q.waiters.Front()
	if front == nil {
		return false
	}
	w := front.Value.(*waiter) //nolint:forcetypeassert // join puts nothing else in
	q.leave(w)
	w.turn <- t // has room: a waiter gets one turn
	return true
}
