package counter

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Sequence hands out unique numbers among all processes that use its path. The
// first number is 1, and the znode holds the highest reserved number, in the form
// of a [Counter].
//
// The numbers of one Sequence increase: a call of Next that begins after
// another call has returned gets a higher number. With a Block of 1, this holds
// among all processes. The sequence has gaps: numbers reserved but not handed
// out by an ended process, numbers reserved by a write of unknown outcome and,
// with a Block of 1, numbers reserved for a call that gave up.
type Sequence struct{ r *batcher }

// errOnlySequence: an option of sequences was given to something else.
var errOnlySequence = fmt.Errorf("%w: Block is an option of a Sequence only", ErrInvalidArgument)

// NewSequence makes a sequence on path. NewSequence sends nothing; the first call
// of a method reports an invalid argument. o may be nil.
func NewSequence(client *session.Client, path string, o *Options) *Sequence {
	r, opts := newBatcher(client, path, o, nil)
	if r.err == nil && opts.Block < 0 {
		r.err = fmt.Errorf("%w: Block is %d; it must be 1 or more, or 0 for the default", ErrInvalidArgument, opts.Block)
	}
	r.block = max(1, int64(opts.Block))
	return &Sequence{r}
}

// batcher is the batcher of the sequence; a zero Sequence has none.
func (q *Sequence) batcher() *batcher { return receiver.OrZero(q).r.orPanic("counter.NewSequence") }

// Path returns the path argument of [NewSequence].
func (q *Sequence) Path() string { return q.batcher().path }

// Next returns a number that no other call gets. Concurrent calls share
// reservations, and are served in the order of arrival.
//
// The error wraps ErrOverflow when the numbers are used up, ErrCorrupt or
// ErrVersion, ErrReused if the znode was set back, the context's error, or an
// error of package session. A number reserved for a failed call goes to another
// call, or is skipped.
func (q *Sequence) Next(ctx context.Context) (int64, error) {
	out, err := q.batcher().change(ctx, &op{})
	if err != nil {
		return 0, failure(ctx, "next", q.batcher().path, err)
	}
	return out.value, nil
}

// makeReservation reserves a number for each of ops, or block if larger, or the
// remaining numbers.
func makeReservation(f Format, now state, ops []*op, block int64) plan {
	p := plan{ops: ops, version: now.version, outcomes: make([]outcome, len(ops))}
	value, err := f.decode(now.data)
	value = max(value, 0) // the first number is 1, also after a negative value
	count := max(block, int64(len(ops)))
	switch left := f.maxValue() - value; {
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

// supplyBlock hands out the plan's reserved numbers to the batch and, for a
// block, to the callers that have come since, in order.
func (r *batcher) supplyBlock(p plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.first <= r.last {
		err := fmt.Errorf("%w: got %d to %d after %d", ErrReused, p.first, p.last, r.last)
		for _, o := range p.ops {
			r.answerLocked(o, outcome{err: err})
		}
		return
	}
	r.given, r.last = p.first-1, p.last
	sent := p.ops[len(p.ops)-1].arrival
	for o := range r.queue.All() {
		if r.given == r.last || r.block == 1 && o.arrival > sent {
			break
		}
		r.given++
		r.answerLocked(o, outcome{value: r.given})
	}
	if r.block == 1 {
		// The number reserved for a caller that has left is skipped: other
		// processes may have got higher numbers before the call of the next
		// caller.
		r.given = r.last
	}
}
