package counter

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// Sequence hands out numbers, each of them once, among all processes that use
// its path. The first is 1, and the znode holds the highest one that was
// reserved, in the form of a [Counter].
//
// The numbers of one Sequence increase: a call of Next that begins after another
// has returned gets a higher number. With a Block of 1 that holds among all
// processes. There are gaps: what a process reserved and did not hand out when
// it ended, what was reserved by a write whose outcome is not known, and, with a
// Block of 1, what was reserved for a call that gave up.
type Sequence struct{ r *register }

// errOnlySequence: an option of sequences was given to something else.
var errOnlySequence = fmt.Errorf("%w: Block is an option of a Sequence only", ErrArgument)

// NewSequence makes a sequence on path. It does nothing yet; a wrong argument is
// reported by the first call of a method. o may be nil.
func NewSequence(client *session.Client, path string, o *Options) *Sequence {
	r, opts := newRegister(client, path, o, nil)
	if r.err == nil && opts.Block < 0 {
		r.err = fmt.Errorf("%w: Block is %d; it must be 1 or more, or 0 for the default", ErrArgument, opts.Block)
	}
	r.block = max(1, int64(opts.Block))
	return &Sequence{r}
}

// Path is the path that the sequence was made with.
func (q *Sequence) Path() string { return q.r.path }

// Next returns a number that nobody else gets. Concurrent calls share
// reservations, and are served in the order of their coming.
//
// The error wraps ErrOverflow when the numbers are used up, ErrCorrupt or
// ErrVersion, ErrReused when somebody has set the znode back, the context's
// error, or one of package session. A number that was reserved for a call that
// failed goes to another, or is skipped.
func (q *Sequence) Next(ctx context.Context) (int64, error) {
	out, err := q.r.change(ctx, &op{})
	if err != nil {
		return 0, failure(ctx, "next", q.r.path, err)
	}
	return out.value, nil
}

// makeReservation reserves a number for each of ops, or block if that is more, or
// what is left.
func makeReservation(f Format, now state, ops []*op, block int64) plan {
	p := plan{ops: ops, version: now.version, outcomes: make([]outcome, len(ops))}
	value, err := f.decode(now.data)
	value = max(value, 0) // the first number is 1, also above a negative one
	count := max(block, int64(len(ops)))
	switch left := f.most() - value; {
	case err != nil:
	case left == 0:
		err = fmt.Errorf("%w: %d was the last number", ErrOverflow, value)
	case now.version == anyVersion:
		err = ErrVersion
	default:
		p.writes, p.first, p.last = true, value+1, value+min(count, left)
		p.data = f.encode(p.last)
	}
	for i := range p.outcomes {
		p.outcomes[i].err = err
	}
	return p
}

// supply hands out what the plan has reserved, to the batch and, of a block, to
// those who have come since, in their order.
func (r *register) supply(p plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.first <= r.last {
		err := fmt.Errorf("%w: got %d to %d after %d", ErrReused, p.first, p.last, r.last)
		for _, o := range p.ops {
			o.answerLocked(outcome{err: err})
		}
		r.shiftLocked()
		return
	}
	r.given, r.last = p.first-1, p.last
	sent := p.ops[len(p.ops)-1].arrival
	for _, o := range r.line {
		if r.given == r.last || r.block == 1 && o.arrival > sent {
			break
		}
		r.given++
		o.answerLocked(outcome{value: r.given})
	}
	if r.block == 1 {
		// What was reserved for callers who have left is skipped: others may have
		// got higher numbers since, before whoever comes now has called.
		r.given = r.last
	}
	r.shiftLocked()
}
