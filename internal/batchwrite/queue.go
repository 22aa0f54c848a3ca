package batchwrite

import "github.com/zkrecipes/zkrecipes/session"

// lastArrival is the arrival of the youngest change.
func (r *Batcher[T]) lastArrival() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals
}

// batch is the changes in the queue.
func (r *Batcher[T]) batch() []*op[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := make([]*op[T], 0, r.queue.Len())
	for o := range r.queue.All() {
		batch = append(batch, o)
	}
	return batch
}

// claim reports whether the callers of all ops still wait: a change whose caller has left
// before it was sent is never made. From now on callers that leave cannot know the outcome
// of their change.
func (r *Batcher[T]) claim(ops []*op[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		if o.left {
			return false
		}
	}
	for _, o := range ops {
		o.sent = true
	}
	return true
}

// putBack records that ops were certainly not carried out.
func (r *Batcher[T]) putBack(ops []*op[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		o.sent = o.pending
	}
}

// markPending records that ops may have been carried out in an ended
// session.
func (r *Batcher[T]) markPending(ops []*op[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		o.pending = true
	}
}

// answerOps gives ops, as far as callers still wait for them, their outcomes.
func (r *Batcher[T]) answerOps(ops []*op[T], outcomes []Outcome[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range ops {
		r.answerLocked(o, outcomes[i])
	}
}

// onApplied answers ops after their plan was carried out.
func (r *Batcher[T]) onApplied(ops []*op[T], p Plan[T]) {
	if r.o.Stock != nil {
		r.supply(ops)
	} else {
		r.answerOps(ops, p.Outcomes)
	}
}

// answerPending answers the changes possibly made in an ended session: their
// outcome is unknown.
func (r *Batcher[T]) answerPending(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for o := range r.queue.All() {
		if o.pending {
			r.answerLocked(o, Outcome[T]{Err: unknownOutcome(r.path, reason)})
		}
	}
}

// refuseLocked gives every caller in the queue the error err.
func (r *Batcher[T]) refuseLocked(err error) {
	for o := range r.queue.All() {
		r.refuseOpLocked(o, err)
	}
}

// refuseOp gives the caller of o the error err.
func (r *Batcher[T]) refuseOp(o *op[T], err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuseOpLocked(o, err)
}

func (r *Batcher[T]) refuseOpLocked(o *op[T], err error) {
	if o.pending {
		err = unknownOutcome(r.path, err)
	}
	r.answerLocked(o, Outcome[T]{Err: err})
}

// answerLocked answers o, and takes it out of the queue, if its caller still waits.
func (r *Batcher[T]) answerLocked(o *op[T], out Outcome[T]) {
	if o.answered {
		return
	}
	r.queue.Remove(o.place)
	r.countAnsweredLocked(o, out.Err, out.Declined)
	o.out, o.answered = out, true
	close(o.done)
}

// unknownOutcome is the error of a change that may have been made.
func unknownOutcome(path string, reason error) error {
	return &session.UnknownOutcomeError{Op: "change", Path: path, Reason: reason}
}
