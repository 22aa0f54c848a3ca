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

// NewSequence makes a sequence on path. NewSequence sends nothing; the first call
// of a method reports an invalid argument. o may be nil.
func NewSequence(client *session.Client, path string, o *Options) *Sequence {
	opts := o.orDefault()
	r := newBatcher(client, path, opts, setup{stock: &stock{format: opts.Format, block: max(1, int64(opts.Block))}})
	if opts.Block < 0 {
		r.Refuse(fmt.Errorf("option Block is %d; it must be 1 or more, or 0 for the default", opts.Block))
	}
	return &Sequence{r}
}

// batcher is the batcher of the sequence; a zero Sequence has none.
func (q *Sequence) batcher() *batcher { return receiver.OrZero(q).r.orMissing("counter.NewSequence") }

// Path returns the path argument of [NewSequence].
func (q *Sequence) Path() string { return q.batcher().Path() }

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
		return 0, failure(ctx, "next", q.batcher().Path(), err)
	}
	return out.Value, nil
}
