package counter

import (
	"container/list"
	"iter"
)

// opQueue has ops, in the order of their arrival. Adding an op, and removing an op from
// anywhere in the queue, take constant time: both happen under the batcher's mu, and
// the contexts of thousands of callers may end at once.
type opQueue struct{ ops list.List }

func (q *opQueue) len() int { return q.ops.Len() }

// push adds o at the end.
func (q *opQueue) push(o *op) { o.place = q.ops.PushBack(o) }

// remove takes o out, if o is in the queue.
func (q *opQueue) remove(o *op) {
	if o.place == nil {
		return
	}
	q.ops.Remove(o.place)
	o.place = nil
}

// all iterates over the ops. The loop's body may remove the present op.
func (q *opQueue) all() iter.Seq[*op] {
	return func(yield func(*op) bool) {
		for e := q.ops.Front(); e != nil; {
			next := e.Next()
			if !yield(e.Value.(*op)) { //nolint:forcetypeassert // push puts nothing else in
				return
			}
			e = next
		}
	}
}
