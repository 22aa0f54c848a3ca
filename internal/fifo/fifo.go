// Package fifo is a queue, first in, first out, whose elements can leave from anywhere.
package fifo

import (
	"container/list"
	"iter"
)

// Queue has elements in the order of their arrival. Every method takes constant time for
// each element: thousands of contexts may end at once, and their callers leave under one
// lock. The zero value is empty; a Queue is not for concurrent use.
type Queue[T any] struct{ elements list.List }

// Place is an element's place in a queue; the zero value and nil stand for no place.
type Place struct{ element *list.Element }

// Push adds v at the end.
func (q *Queue[T]) Push(v T) *Place { return &Place{q.elements.PushBack(v)} }

// Remove takes the element at p out, and reports whether it was still in the queue.
func (q *Queue[T]) Remove(p *Place) bool {
	if p == nil || p.element == nil {
		return false
	}
	q.elements.Remove(p.element)
	p.element = nil
	return true
}

// Len is the number of elements.
func (q *Queue[T]) Len() int { return q.elements.Len() }

// All iterates over the elements in order. The loop's body may remove the present one.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for e := q.elements.Front(); e != nil; {
			next := e.Next()
			if !yield(e.Value.(T)) { //nolint:forcetypeassert // Push puts nothing else in
				return
			}
			e = next
		}
	}
}
