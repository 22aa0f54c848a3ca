package cache

import (
	"context"
	"iter"
)

// reader is one iteration over a view's events. All but wake is guarded by store.mu.
type reader[T any] struct {
	wake chan struct{} // cap 1: there is something to look at
	// lagging: a snapshot comes next, and nothing is queued.
	lagging bool
	queue   []Event[T]
}

func (r *reader[T]) pushLocked(ev Event[T], limit int) {
	switch {
	case r.lagging:
		return
	case len(r.queue) == limit:
		r.lagging, r.queue = true, nil
	default:
		r.queue = append(r.queue, ev)
	}
	r.wakeLocked()
}

func (r *reader[T]) wakeLocked() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// takeLocked returns the reader's next events: a snapshot, or the events in its queue.
// There are no events until the view was complete once.
func (r *reader[T]) takeLocked(st *store[T]) []Event[T] {
	if r.lagging && st.loaded {
		r.lagging = false
		return []Event[T]{{Kind: EventSnapshot, Snapshot: st.snapshotLocked()}}
	}
	out := r.queue
	r.queue = nil
	return out
}

// events iterates as [View.Events] says; explain words the last error.
func (st *store[T]) events(ctx context.Context, explain func(error) error) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		r := &reader[T]{wake: make(chan struct{}, 1), lagging: true}
		st.mu.Lock()
		st.readers[r] = struct{}{}
		st.mu.Unlock()
		defer func() {
			st.mu.Lock()
			delete(st.readers, r)
			st.mu.Unlock()
		}()
		for {
			if ctx.Err() != nil {
				yield(Event[T]{}, explain(context.Cause(ctx)))
				return
			}
			st.mu.Lock()
			events, over := r.takeLocked(st), st.over
			st.mu.Unlock()
			for _, ev := range events {
				if ctx.Err() != nil {
					break
				}
				if !yield(ev, nil) {
					return
				}
			}
			if len(events) > 0 {
				continue
			}
			if over != nil {
				yield(Event[T]{}, explain(over))
				return
			}
			select {
			case <-r.wake:
			case <-ctx.Done():
			}
		}
	}
}
