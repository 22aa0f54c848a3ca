package counter

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// MaxCount is the highest count of a [Latch].
const MaxCount = counterformat.MaxCount

// Latch is a count-down latch shared by all processes that use its path, as Java's
// CountDownLatch is within a process: clients count down, and waiters pass once the count is
// 0. A latch whose count was never set has the count 0. TrySetCount begins the next round,
// once the count is 0 again.
type Latch struct{ r *batcher }

// NewLatch makes a latch on path. NewLatch sends no request; the first call of a method
// reports an invalid argument. Keep and share the latch: each latch that has changed the
// count has a znode of its own until the session ends. o may be nil; leave Format and Block
// zero.
func NewLatch(client *session.Client, path string, o *Options) *Latch {
	opts := o.orDefault()
	r := newBatcher(client, path, opts, setup{marker: counterformat.LatchBase})
	if opts.Format != CuratorLong {
		r.Refuse(fmt.Errorf("Format is %d; a Latch has a format of its own", int(opts.Format)))
	}
	return &Latch{r}
}

// batcher is the batcher of the latch; a zero Latch has none.
func (l *Latch) batcher() *batcher { return receiver.OrZero(l).r.orMissing("counter.NewLatch") }

// Path returns the path argument of [NewLatch].
func (l *Latch) Path() string { return l.batcher().Path() }

// TrySetCount sets the count to n, 1 to MaxCount, if the count is 0, and reports whether it
// did: a new round begins then. The answer is correct even if replies were lost. Errors are
// the same as for [Counter.Add].
func (l *Latch) TrySetCount(ctx context.Context, n int) (bool, error) {
	const name = "set count"
	r := l.batcher()
	err := r.CheckCall(ctx)
	if err == nil && (n < 1 || n > MaxCount) {
		err = fmt.Errorf("%w: the count must be at least 1, and at most %d, got %d", ErrInvalidArgument, MaxCount, n)
	}
	var out outcome
	if err == nil {
		out, err = r.change(ctx, &op{kind: setCount, to: int64(n)})
	}
	if err != nil {
		return false, failure(ctx, name, r.Path(), err)
	}
	return out.OK, nil
}

// CountDown lowers the count by 1, once, and returns the new count. If the count is 0,
// CountDown changes nothing and returns 0. If the reply is lost, CountDown finds out the
// outcome, and never retries blindly. Errors are the same as for [Counter.Add].
func (l *Latch) CountDown(ctx context.Context) (left int, err error) {
	r := l.batcher()
	out, err := r.change(ctx, &op{kind: countDown})
	if err != nil {
		return 0, failure(ctx, "count down", r.Path(), err)
	}
	_, count, _ := counterformat.SplitLatch(out.Value)
	return int(count), nil
}

// Count returns the count: 0 also if it was never set. Count sees all changes committed
// before the call; this needs a quorum, as a change does.
func (l *Latch) Count(ctx context.Context) (int, error) {
	now, err := l.read(ctx)
	if err != nil {
		return 0, failure(ctx, "get", l.batcher().Path(), err)
	}
	return int(now.count), nil
}

// Await waits until the count is 0. A count that is 0 at the call, or was never set, is
// enough; Await decides that by a state that was committed at the call or later, which needs
// a quorum. If another client begins the next round before the waiter has seen the 0, Await
// returns nil nevertheless: the round that it has waited for is over.
//
// If the znode is deleted while Await waits, by another client or with the whole ensemble,
// the error wraps ErrDeleted: the count may have been 0 before.
//
// A waiter keeps one watch, and sends one read for each change of the count. Await continues
// in the next session after a loss.
func (l *Latch) Await(ctx context.Context) error {
	const name = "await"
	r := l.batcher()
	if err := r.CheckCall(ctx); err != nil {
		return failure(ctx, name, r.Path(), err)
	}
	waiting := observing.BeginWait(ctx, r.Client(), observe.Barrier, r.Path())
	err := l.awaitZero(ctx)
	if err != nil {
		err = failure(ctx, name, r.Path(), err)
	}
	waiting.End(err)
	return err
}

// latchState is the state of a latch; the zero value is that of a missing znode.
type latchState struct {
	node         batchwrite.Identity
	mzxid        int64
	round, count int32
}

func latchStateOf(now batchwrite.State) (latchState, error) {
	v, err := CuratorLong.decode(now.Data)
	if err != nil {
		return latchState{}, err
	}
	round, count, err := splitLatch(v)
	return latchState{node: now.Node, mzxid: now.Mzxid, round: round, count: count}, err
}

// splitLatch is the round and count in the number v.
func splitLatch(v int64) (round, count int32, err error) {
	round, count, ok := counterformat.SplitLatch(v)
	if !ok {
		return 0, 0, fmt.Errorf("%w: %d is not the round and count of a latch", ErrCorrupt, v)
	}
	return round, count, nil
}

// read reads the state behind everything committed before the call.
func (l *Latch) read(ctx context.Context) (latchState, error) {
	now, err := l.batcher().Read(ctx)
	if err != nil || now == nil {
		return latchState{}, err
	}
	return latchStateOf(*now)
}

// awaitZero waits for the end of the present round.
func (l *Latch) awaitZero(ctx context.Context) error {
	r := l.batcher()
	read := batchwrite.Reading(r.Batcher, false, func(now batchwrite.State, exists bool) (latchState, error) {
		if !exists {
			return latchState{}, nil
		}
		return latchStateOf(now)
	})
	same := func(a, b latchState) bool { return a == b }
	first := latchState{}
	for now, err := range follow.States(ctx, follow.Sessions{Client: r.Client()}, r.Path(), read, same) {
		if err == nil && now.unproved(first) {
			now, err = l.read(ctx)
		}
		switch {
		case err != nil:
			return err
		case first.count == 0 && now.count > 0:
			first = now
		case now.node != first.node && first.count > 0:
			return ErrDeleted
		case now.count == 0 || now.round != first.round:
			return nil
		}
	}
	return context.Cause(ctx)
}

// unproved says that a state needs a proof before a wait that began with the state first ends
// because of it: a server that lags behind may show the time before the count was set, or
// before the znode of first was created.
func (now latchState) unproved(first latchState) bool {
	return first.count == 0 && now.count == 0 || first.count > 0 && (now.node != first.node || now.mzxid < first.mzxid)
}
