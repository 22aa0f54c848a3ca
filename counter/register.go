package counter

import (
	"context"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// register is a number in a znode, and the changes to it that goroutines of this
// process wait for. While one write is under way, changes gather; the next write
// carries all of them.
type register struct {
	client *session.Client
	path   string
	format Format
	// initial is the data of a node that is missing; making it changes nothing.
	initial []byte
	acl     []session.ACL
	// block is how many numbers a Sequence reserves at least; 0 for the others.
	block int64
	err   error // what is wrong with the arguments

	// mu guards what follows. Invariant: line has the changes that somebody
	// waits for, in the order of their arrival; stop is set exactly while a
	// goroutine is in run, as it is whenever line is not empty, and ends that
	// goroutine's context.
	// The numbers of a Sequence above given and up to last are reserved and not
	// handed out; there are none while anybody is in line.
	mu          sync.Mutex
	line        []*op
	arrivals    uint64
	stop        context.CancelFunc
	given, last int64

	// w belongs to the goroutine in run, of which there is one at a time.
	w writer
}

func newRegister(client *session.Client, path string, o *Options, initial []byte) (*register, Options) {
	opts, err := o.checked(client, path)
	if initial == nil && opts.Format == CuratorInt {
		// No data says 0 to everybody but Curator's SharedCount, which throws.
		initial = CuratorInt.encode(0)
	}
	r := &register{client: client, path: path, format: opts.Format, initial: initial, acl: opts.ACL, err: err}
	r.w.r = r
	return r, opts
}

// begin is what every method does first.
func (r *register) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.err
}

// change carries o out, together with what else is in line. If ctx ends before o
// was sent, it is taken out of the line and never will be; otherwise its outcome
// is unknown to the caller.
func (r *register) change(ctx context.Context, o *op) (outcome, error) {
	if err := r.begin(ctx); err != nil {
		return outcome{}, err
	}
	o.done = make(chan struct{})
	r.mu.Lock()
	if len(r.line) == 0 && r.given < r.last {
		defer r.mu.Unlock()
		r.given++
		return outcome{value: r.given}, nil
	}
	r.arrivals++
	o.arrival = r.arrivals
	r.line = append(r.line, o)
	if r.stop == nil {
		var run context.Context
		run, r.stop = context.WithCancel(context.WithoutCancel(ctx))
		// The callers in line wait for it, and it depends on none of them. It
		// ends when the last of them was answered or has gone, and what was sent
		// for them is answered or the session has ended, as it has at the latest
		// when the client is closed.
		go r.run(run)
	}
	r.mu.Unlock()
	select {
	case <-o.done:
		return o.out, o.out.err
	case <-ctx.Done():
		return r.leave(ctx, o)
	}
}

// leave takes o, whose caller goes, out of the line.
func (r *register) leave(ctx context.Context, o *op) (outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.answered {
		return o.out, o.out.err
	}
	r.line = slices.DeleteFunc(r.line, func(other *op) bool { return other == o })
	if len(r.line) == 0 {
		r.stop() // nobody waits any more
	}
	if o.sent && r.block == 0 { // a number that is reserved for nobody is skipped
		return outcome{}, unknown(r.path, context.Cause(ctx))
	}
	return outcome{}, context.Cause(ctx)
}

// run carries out what is in line until nothing is.
func (r *register) run(ctx context.Context) {
	values := context.WithoutCancel(ctx)
	for {
		err := r.w.round(ctx)
		r.mu.Lock()
		if err != nil && ctx.Err() == nil {
			r.refuseLocked(err)
		}
		if len(r.line) == 0 {
			r.stop()
			r.stop = nil
			r.mu.Unlock()
			return
		}
		if ctx.Err() != nil {
			// Between the last one who left and now, others came. Not a child of
			// ctx: during a long outage these would become a long chain.
			ctx, r.stop = context.WithCancel(values)
		}
		r.mu.Unlock()
	}
}

// arrived is the arrival of the youngest change.
func (r *register) arrived() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals
}

// take is the batch to carry out. From now on those who leave cannot know what
// becomes of their change.
func (r *register) take() []*op {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.line {
		o.sent = true
	}
	return slices.Clone(r.line)
}

// putBack says that the batch was surely not carried out.
func (r *register) putBack(ops []*op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		o.sent = o.doubted
	}
}

// doubt says that the batch may have been carried out in a session that is over.
func (r *register) doubt(ops []*op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ops {
		o.doubted = true
	}
}

// answer gives the first n of the plan's ops, as far as somebody still waits for
// them, their outcomes.
func (r *register) answer(p plan, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range p.ops[:n] {
		o.answerLocked(p.outcomes[i])
	}
	r.shiftLocked()
}

// applied answers the batch, of which the plan was carried out.
func (r *register) applied(p plan, batch []*op) {
	if r.block > 0 {
		r.supply(p)
	} else {
		r.answer(p, len(p.ops))
	}
	r.putBack(batch[len(p.ops):])
}

// answerDoubted tells those whose change may have been made in a session that is
// over that nobody can know.
func (r *register) answerDoubted(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.line {
		if o.doubted {
			o.answerLocked(outcome{err: unknown(r.path, reason)})
		}
	}
	r.shiftLocked()
}

// refuseLocked gives everybody in line the error err.
func (r *register) refuseLocked(err error) {
	for _, o := range r.line {
		out := outcome{err: err}
		if o.doubted {
			out.err = unknown(r.path, err)
		}
		o.answerLocked(out)
	}
	r.shiftLocked()
}

// shiftLocked takes those who were answered out of the line.
func (r *register) shiftLocked() {
	r.line = slices.DeleteFunc(r.line, func(o *op) bool { return o.answered })
}

func (o *op) answerLocked(out outcome) {
	if o.answered {
		return
	}
	o.out, o.answered = out, true
	close(o.done)
}
