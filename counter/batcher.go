package counter

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/fifo"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// batcher is a number in a znode, with the awaited changes of this process's
// goroutines. While one write is in progress, changes gather; the next write
// carries all of them.
type batcher struct {
	client *session.Client
	path   string
	format Format
	// initial is the data of a missing node; its creation does not change the
	// value.
	initial []byte
	acl     []session.ACL
	// base is in the names of markers.
	base string
	// block is how many numbers a Sequence reserves at least; 0 for the others.
	block int64
	err   error // an invalid argument
	// constructor is the missing constructor of a zero value.
	constructor string
	observer    observe.Observer // may be nil

	// mu guards the fields below. Invariant: queue has the awaited changes, in
	// the order of their arrival; stop is set exactly while a goroutine is in
	// run, and ends its context; while queue is not empty, a goroutine is in
	// run. The numbers of a Sequence above given and up to last are reserved and
	// not handed out; none exist while the queue has a change.
	mu          sync.Mutex
	queue       fifo.Queue[*op]
	arrivals    uint64
	stop        context.CancelFunc
	given, last int64
	tally       tally

	// w belongs to the goroutine in run, at most one at a time.
	w writer
}

func newBatcher(client *session.Client, path string, o *Options, initial []byte) (*batcher, Options) {
	opts, err := o.checked(client, path)
	if initial == nil && opts.Format == CuratorInt {
		// No data means 0 to every library but Curator's SharedCount, which throws.
		initial = CuratorInt.encode(0)
	}
	r := &batcher{client: client, path: path, format: opts.Format, initial: initial, acl: opts.ACL, base: counterformat.WriterBase, err: err}
	r.w.r = r
	r.observer = client.Observer()
	return r, opts
}

// orPanic is r. A zero value has no batcher: constructor names the function to
// call.
func (r *batcher) orPanic(constructor string) *batcher {
	if r == nil {
		return &batcher{constructor: constructor}
	}
	return r
}

// checkCall is the first step of every method.
func (r *batcher) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, r.client, r.constructor, r.err, ErrInvalidArgument)
}

// change carries o out, together with the other changes in the queue. If ctx ends
// before o was sent, o is taken out of the queue and is never sent; otherwise its
// outcome is unknown to the caller.
func (r *batcher) change(ctx context.Context, o *op) (outcome, error) {
	if err := r.checkCall(ctx); err != nil {
		return outcome{}, err
	}
	o.ctx, o.done = ctx, make(chan struct{})
	r.mu.Lock()
	if r.queue.Len() == 0 && r.given < r.last {
		defer r.mu.Unlock()
		r.given++
		return outcome{value: r.given}, nil
	}
	r.arrivals++
	o.arrival = r.arrivals
	o.place = r.queue.Push(o)
	if r.stop == nil {
		var run context.Context
		run, r.stop = context.WithCancel(context.WithoutCancel(ctx))
		r.beginBatchLocked()
		// The callers in the queue wait for the goroutine, which depends on none
		// of them. The goroutine ends when the last caller was answered or has
		// left, and the sent requests are answered or the session has ended; at
		// the latest when the client is closed.
		go r.run(run)
	}
	r.mu.Unlock()
	select {
	case <-o.done:
		return o.out, o.out.err
	case <-ctx.Done():
		return r.withdraw(ctx, o)
	}
}

// withdraw takes o, whose caller goes, out of the queue.
func (r *batcher) withdraw(ctx context.Context, o *op) (outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.answered {
		return o.out, o.out.err
	}
	r.queue.Remove(o.place)
	if r.queue.Len() == 0 {
		r.stop() // no caller waits any more
	}
	err := context.Cause(ctx)
	if o.sent && r.block == 0 { // a number reserved for a caller that has left is skipped
		err = unknownOutcome(r.path, err)
	}
	r.countLeftLocked(o, err)
	return outcome{}, err
}

// run carries out the changes in the queue until it is empty. With an observer, run
// reports each batch that ends; the next batch is then carried out by another goroutine.
func (r *batcher) run(ctx context.Context) {
	values := context.WithoutCancel(ctx)
	for {
		err := r.w.writeRound(ctx)
		r.mu.Lock()
		if err != nil && ctx.Err() == nil {
			r.refuseLocked(err)
		}
		report, empty := r.endBatchLocked(), r.queue.Len() == 0
		switch {
		case empty:
			r.stop()
			r.stop = nil
		case ctx.Err() != nil:
			// New callers have come since the last caller left. Not a child of
			// ctx: during a long outage the contexts would become a long chain.
			ctx, r.stop = context.WithCancel(values)
		}
		r.mu.Unlock()
		if report != nil {
			if !empty {
				// Ends like this goroutine, which cannot go on: the observer may be
				// slow, or wait for a change of this counter.
				go r.run(ctx)
			}
			report()
			return
		}
		if empty {
			return
		}
	}
}

// lastArrival is the arrival of the youngest change.
func (r *batcher) lastArrival() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals
}

// takeQueue returns the batch to carry out. From now on callers that leave cannot know
// the outcome of their change.
func (r *batcher) takeQueue() []*op {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := make([]*op, 0, r.queue.Len())
	for o := range r.queue.All() {
		o.sent = true
		batch = append(batch, o)
	}
	return batch
}

// putBack records that the batch was certainly not carried out.
func (r *batcher) putBack(ops []*op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		o.sent = o.pending
	}
}

// markPending records that the batch may have been carried out in an ended
// session.
func (r *batcher) markPending(ops []*op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		o.pending = true
	}
}

// answerOps gives the first n of the plan's ops, as far as callers still wait for them,
// their outcomes.
func (r *batcher) answerOps(p plan, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range p.ops[:n] {
		r.answerLocked(o, p.outcomes[i])
	}
}

// onApplied answers the batch after its plan was carried out.
func (r *batcher) onApplied(p plan, batch []*op) {
	if r.block > 0 {
		r.supplyBlock(p)
	} else {
		r.answerOps(p, len(p.ops))
	}
	r.putBack(batch[len(p.ops):])
}

// answerPending answers the changes possibly made in an ended session: their
// outcome is unknown.
func (r *batcher) answerPending(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for o := range r.queue.All() {
		if o.pending {
			r.answerLocked(o, outcome{err: unknownOutcome(r.path, reason)})
		}
	}
}

// refuseLocked gives every caller in the queue the error err.
func (r *batcher) refuseLocked(err error) {
	for o := range r.queue.All() {
		out := outcome{err: err}
		if o.pending {
			out.err = unknownOutcome(r.path, err)
		}
		r.answerLocked(o, out)
	}
}

// answerLocked answers o, and takes it out of the queue, if its caller still waits.
func (r *batcher) answerLocked(o *op, out outcome) {
	if o.answered {
		return
	}
	r.queue.Remove(o.place)
	r.countAnsweredLocked(o, out.err)
	o.out, o.answered = out, true
	close(o.done)
}
