package lock

import "container/list"

// waiter is a goroutine of this process that waits for the baton.
type waiter struct {
	baton chan baton // cap 1
	place *list.Element
}

// localQueue is the queue of a process, first in, first out. Joining, leaving
// from anywhere in the queue, and serving take constant time: all three happen under
// the Mutex's mu, and thousands of contexts may end at once.
type localQueue struct{ waiters list.List }

// join queues up.
func (q *localQueue) join() *waiter {
	w := &waiter{baton: make(chan baton, 1)}
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

// serve removes the first waiter, and gives the waiter b; false without a waiter.
func (q *localQueue) serve(b baton) bool {
	front := q.waiters.Front()
	if front == nil {
		return false
	}
	w := front.Value.(*waiter) //nolint:forcetypeassert // join puts nothing else in
	q.leave(w)
	w.baton <- b // has room: a waiter gets the baton once
	return true
}
