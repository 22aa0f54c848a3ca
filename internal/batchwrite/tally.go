package batchwrite

import (
	"cmp"
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
)

// tally counts, for the observer, the operations of a batch, which are those that have
// left the queue since the end of the batch before.
type tally struct {
	began time.Time
	ctx   context.Context // of the first operation
	ops   int
	ended time.Time // when the last operation left
	// answered: the batch was carried out or refused.
	answered bool
	err      error // the first error of an answered operation
	failed   bool  // an answered operation has an error that is not that of its own function
	// left is the number of operations whose callers did not wait for the answer; givenUp
	// is the first error of such a caller.
	left    int
	givenUp error
}

// beginBatchLocked begins the tally of a batch.
func (r *Batcher[T]) beginBatchLocked() {
	if r.observer != nil {
		r.tally = tally{began: time.Now()}
	}
}

// countAnsweredLocked enters an operation that is answered with err, which is that of its own
// function if declined is set.
func (r *Batcher[T]) countAnsweredLocked(o *op[T], err error, declined bool) {
	if r.observer == nil {
		return
	}
	r.tally.answered = true
	if !o.left {
		r.tally.count(o.ctx)
		r.tally.err = cmp.Or(r.tally.err, err)
		r.tally.failed = r.tally.failed || err != nil && !declined
	}
}

// countLeftLocked enters an operation whose caller leaves with err.
func (r *Batcher[T]) countLeftLocked(o *op[T], err error) {
	if r.observer == nil {
		return
	}
	r.tally.count(o.ctx)
	r.tally.left++
	r.tally.givenUp = cmp.Or(r.tally.givenUp, err)
}

func (t *tally) count(ctx context.Context) {
	if t.ops == 0 {
		t.ctx = ctx
	}
	t.ops, t.ended = t.ops+1, time.Now()
}

// endBatchLocked returns the report of the batch, and begins the next batch. The report
// is nil if the batch has not ended, or without an observer.
func (r *Batcher[T]) endBatchLocked() (report func()) {
	t := r.tally
	if t.ops == 0 || !t.answered && r.queue.Len() > 0 {
		return nil
	}
	e := observe.BatchWritten{
		Path: r.path, Operations: t.ops, Conflicts: r.w.conflicts, Unknown: r.w.unknown,
		Took: t.ended.Sub(t.began), Err: t.err, Declined: t.err != nil && !t.failed,
	}
	if t.left == t.ops {
		e.Err, e.Declined = t.givenUp, false
	}
	r.w.conflicts, r.w.unknown = 0, 0
	r.beginBatchLocked()
	return func() { r.observer.Observe(t.ctx, e) }
}
