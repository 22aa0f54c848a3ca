package counter

import (
	"context"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Counter is a number shared by all processes that use its path. A missing
// znode, and a znode without data, mean 0.
type Counter struct{ r *batcher }

// State is the state of a counter at a moment.
type State struct {
	Value int64
	// Exists is false while there is no znode; Value is 0 then.
	Exists bool
	// Version is the znode's version: the number of changes. The version starts
	// at 0 again when the znode is created again, and becomes negative after
	// 2147483647. To distinguish states, compare the whole State.
	Version int32
	// Zxid is the id of the transaction of this state; 0 if no znode exists. A
	// Zxid is never used twice, and grows with each change.
	Zxid int64
}

// New makes a counter on path. New sends no request; the first call of a method
// reports an invalid argument. Keep and share the counter: each counter with
// changes has a znode of its own until the session ends. o may be nil.
func New(client *session.Client, path string, o *Options) *Counter {
	return &Counter{newBatcher(client, path, o.orDefault(), setup{})}
}

// batcher is the batcher of the counter; a zero Counter has none.
func (c *Counter) batcher() *batcher { return receiver.OrZero(c).r.orMissing("counter.New") }

// Path returns the path argument of [New].
func (c *Counter) Path() string { return c.batcher().Path() }

// Get returns the number. Get sees all changes committed before the call; this
// needs a quorum, as a change does. [Counter.Watch] reads more cheaply. Errors:
// ErrCorrupt, the context's error, or an error of package session.
func (c *Counter) Get(ctx context.Context) (int64, error) {
	now, err := c.batcher().Read(ctx)
	value := int64(0)
	if err == nil && now != nil {
		value, err = c.batcher().format.decode(now.Data)
	}
	if err != nil {
		return 0, failure(ctx, "get", c.batcher().Path(), err)
	}
	return value, nil
}

// Add adds delta, once, and returns the new number. If the reply is lost, Add
// finds out the outcome, and never retries blindly. Concurrent calls are carried
// out by one write, as if one after the other.
//
// If the error wraps session.ErrUnknownOutcome, the change may have been made, or
// may still be made. This happens if
//   - ctx ended, or the client was closed, while the change was in flight; or
//   - the session was lost during the change, or the writer's marker was deleted,
//     and the counter has changed since, or the same write began with a Set.
//
// With any other error nothing was changed: ErrOverflow, ErrCorrupt, ErrVersion,
// the context's error, or an error of package session.
func (c *Counter) Add(ctx context.Context, delta int64) (int64, error) {
	return c.change(ctx, "add", &op{kind: add, to: delta})
}

// Increment is Add of 1.
func (c *Counter) Increment(ctx context.Context) (int64, error) { return c.Add(ctx, 1) }

// Decrement is Add of -1.
func (c *Counter) Decrement(ctx context.Context) (int64, error) { return c.Add(ctx, -1) }

// Set sets the number to v, and also replaces invalid data. Errors are the same
// as for Add, without ErrCorrupt and ErrVersion.
func (c *Counter) Set(ctx context.Context, v int64) error {
	_, err := c.change(ctx, "set", &op{kind: set, to: v})
	return err
}

// CompareAndSwap sets the number to new if it is old, and reports whether it
// was old. The answer is correct even if replies were lost. Errors are the same
// as for Add.
func (c *Counter) CompareAndSwap(ctx context.Context, old, new int64) (bool, error) {
	const name = "compare and swap"
	if err := c.batcher().CheckCall(ctx); err != nil {
		return false, failure(ctx, name, c.batcher().Path(), err)
	}
	if err := c.batcher().format.fits(new); err != nil {
		return false, failure(ctx, name, c.batcher().Path(), err)
	}
	out, err := c.batcher().change(ctx, &op{kind: swap, from: old, to: new})
	if err != nil {
		return false, failure(ctx, name, c.batcher().Path(), err)
	}
	return out.OK, nil
}

// change carries out o and adds the operation to its error.
func (c *Counter) change(ctx context.Context, name string, o *op) (int64, error) {
	err := c.batcher().CheckCall(ctx)
	if err == nil && o.kind == set {
		err = c.batcher().format.fits(o.to)
	}
	var out outcome
	if err == nil {
		out, err = c.batcher().change(ctx, o)
	}
	if err != nil {
		return 0, failure(ctx, name, c.batcher().Path(), err)
	}
	return out.Value, nil
}

// Watch iterates over the counter's states: first the present state, as the
// server knows it after a sync, then each newer state. States that pass while
// the loop's body runs are skipped. Watch never goes back, and continues in the
// next session after a loss. Watch ends with ctx, with the client, or with a
// permanent error (such as ErrCorrupt, or session.ErrNoAuth if the client may
// not read the znode); the error is the last element. Servers report neither
// the creation of an unreadable znode nor changes of the access list: Watch
// notices both on the next connection.
func (c *Counter) Watch(ctx context.Context) iter.Seq2[State, error] {
	return watch(ctx, c.batcher(), false, func(now batchwrite.State, exists bool) (State, error) {
		value, err := c.batcher().format.decode(now.Data)
		return State{Value: value, Exists: exists, Version: now.Version, Zxid: now.Mzxid}, err
	})
}
