package lock

import "github.com/zkrecipes/zkrecipes/internal/fifo"

// waiter is a goroutine of this process that waits for the baton.
type waiter struct {
	baton chan baton // cap 1
	place *fifo.Place
}

// localQueue is the queue of a process.
type localQueue struct{ waiters fifo.Queue[*waiter] }

// join queues up.
func (q *localQueue) join() *waiter {
	w := &waiter{baton: make(chan baton, 1)}
	w.place = q.waiters.Push(w)
	return w
}

// leave removes w, and reports whether w was still in the queue.
func (q *localQueue) leave(w *waiter) bool { return q.waiters.Remove(w.place) }

// serve removes the first waiter, and gives the waiter b; false without a waiter.
func (q *localQueue) serve(b baton) bool {
	for w := range q.waiters.All() {
		q.leave(w)
		w.baton <- b // has room: a waiter gets the baton once
		return true
	}
	return false
}
