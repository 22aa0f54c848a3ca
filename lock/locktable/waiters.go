package locktable

import "github.com/zkrecipes/zkrecipes/internal/fifo"

// waiters are the acquirers that want a held or busy name, first come, first served.
// Adding an acquirer, and removing an acquirer from anywhere, take constant time: both
// happen under the owner's mu, and the contexts of thousands of calls may end at once.
type waiters struct {
	queues map[string]*fifo.Queue[*Acquirer]
	places map[waiter]*fifo.Place
}

// waiter is an acquirer that wants a name.
type waiter struct {
	name string
	a    *Acquirer
}

func newWaiters() waiters {
	return waiters{queues: map[string]*fifo.Queue[*Acquirer]{}, places: map[waiter]*fifo.Place{}}
}

// add queues up an acquirer, if it does not wait for the name already.
func (w *waiters) add(name string, a *Acquirer) {
	key := waiter{name, a}
	if w.places[key] != nil {
		return
	}
	queue := w.queues[name]
	if queue == nil {
		queue = &fifo.Queue[*Acquirer]{}
		w.queues[name] = queue
	}
	w.places[key] = queue.Push(a)
}

// remove takes an acquirer out, if it waits for the name.
func (w *waiters) remove(name string, a *Acquirer) {
	key := waiter{name, a}
	place := w.places[key]
	if place == nil {
		return
	}
	delete(w.places, key)
	queue := w.queues[name]
	queue.Remove(place)
	if queue.Len() == 0 {
		delete(w.queues, name)
	}
}

// takeAll returns the acquirers that wait for the name, and removes them.
func (w *waiters) takeAll(name string) []*Acquirer {
	queue := w.queues[name]
	if queue == nil {
		return nil
	}
	delete(w.queues, name)
	out := make([]*Acquirer, 0, queue.Len())
	for a := range queue.All() {
		delete(w.places, waiter{name, a})
		out = append(out, a)
	}
	return out
}
