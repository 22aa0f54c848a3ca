package value

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Value is bytes shared by all processes that use its path.
type Value struct {
	b *batchwrite.Batcher[[]byte]
	// seed is the data of a missing znode; with a seed, reads create the znode.
	seed []byte
}

// Options of a [Value]; nil and the zero value mean all defaults.
type Options struct {
	// Seed is the data of a missing znode; default: none, a missing znode has no data.
	// With a Seed, every method creates a missing znode, so that the seed of the first
	// client counts for all, as with Curator's SharedValue.
	Seed []byte
	// ACL of the znodes; default: the client's. A client that changes a value
	// must also be allowed to create children of the znode.
	ACL []session.ACL
}

// New makes a value on path. New sends no request; the first call of a method
// reports an invalid argument. Keep and share the value: each Value with
// changes has a znode of its own until the session ends. o may be nil.
func New(client *session.Client, path string, o *Options) *Value {
	if o == nil {
		o = &Options{}
	}
	return &Value{
		b:    batchwrite.New(client, path, "a value", batchwrite.Options[[]byte]{ACL: o.ACL, Initial: o.Seed, Marker: counterformat.ValueBase}),
		seed: slices.Clone(o.Seed), // the caller may change its slice
	}
}

// batcher carries out the changes; that of a zero Value refuses them.
func (v *Value) batcher() *batchwrite.Batcher[[]byte] {
	if b := receiver.OrZero(v).b; b != nil {
		return b
	}
	return batchwrite.Missing[[]byte]("value.New")
}

// Path returns the path argument of [New].
func (v *Value) Path() string { return v.batcher().Path() }

// Get returns the present state. Get sees all changes committed before the call; this
// needs a quorum, as a change does. [Value.Watch] reads more cheaply. Errors:
// the context's error, or an error of package session.
func (v *Value) Get(ctx context.Context) (State, error) {
	var out State
	err := v.batcher().CheckCall(ctx)
	switch {
	case err != nil:
	case len(v.seed) > 0:
		var now batchwrite.State
		if now, err = v.b.ReadOrCreate(ctx); err == nil {
			out = stateOf(now, true)
		}
	default:
		var now *batchwrite.State
		if now, err = v.b.Read(ctx); err == nil && now != nil {
			out = stateOf(*now, true)
		}
	}
	if err != nil {
		return State{}, failure(ctx, "get", v.Path(), err)
	}
	return out, nil
}

// Set sets the bytes to data, once. If the reply is lost, Set finds out the outcome, and
// never retries blindly. Concurrent changes are carried out by one write, as if one after
// the other.
//
// If the error wraps session.ErrUnknownOutcome, the change may have been made, or
// may still be made. This happens if
//   - ctx ended, or the client was closed, while the change was in flight; or
//   - the session was lost during the change, or the writer's marker was deleted,
//     and the value has changed since, or the same write began with a Set.
//
// With any other error nothing was changed: session.ErrTooLarge, the context's error, or
// another error of package session. More data than the servers accept (jute.maxbuffer, 1 MiB
// by default; session.Options.MaxRequest) is refused with session.ErrTooLarge.
func (v *Value) Set(ctx context.Context, data []byte) error {
	_, err := v.change(ctx, "set", &change{kind: set, to: slices.Clone(data)})
	return err
}

// CompareAndSwap sets the bytes to new if they are old, and reports whether they
// were old: DistributedAtomicValue's compareAndSet. The answer is correct even if replies
// were lost. Bytes that were changed and changed back are old; [Value.TrySet] tells. A
// missing znode has the bytes of Options.Seed. Errors are the same as for [Value.Set], and
// ErrVersion.
func (v *Value) CompareAndSwap(ctx context.Context, old, new []byte) (bool, error) {
	out, err := v.change(ctx, "compare and swap", &change{kind: swap, from: slices.Clone(old), to: slices.Clone(new)})
	return out.OK, err
}

// TrySet sets the bytes to data if no client has set them since seen, and reports whether it
// did: SharedValue's trySetValue. Bytes that were set to the same bytes again, or deleted and
// created again, differ from the seen state, also in an ensemble that was recreated empty.
// TrySet compares the Zxid and the znode's identity, which seen has from Get or Watch; of a
// state with only a Zxid, TrySet compares the Zxid alone. If the znode did not exist in seen
// (the zero State), TrySet sets the bytes if the znode is still missing, or was created with
// the data of a missing znode and never set. The answer is correct even if replies were lost.
// Errors are the same as for [Value.CompareAndSwap].
func (v *Value) TrySet(ctx context.Context, seen State, data []byte) (bool, error) {
	out, err := v.change(ctx, "try set", &change{kind: swapSeen, seen: seen, seed: receiver.OrZero(v).seed, to: slices.Clone(data)})
	return out.OK, err
}

// Update sets the bytes to the result of f, which gets the present bytes, and returns the
// new bytes. No other change comes between. If f returns the bytes that it was given, or an
// error, nothing is written; Update returns an error that wraps f's. A missing znode has the
// bytes of Options.Seed.
//
// f is called by the goroutine of the caller, and again if another client was faster: f
// should have no other effect. f may change and keep its argument. The other changes of this
// Value wait for f, which must not wait for one of them; nor does Update end with ctx before
// f has returned. Errors are the same as for [Value.CompareAndSwap].
func (v *Value) Update(ctx context.Context, f func(data []byte) ([]byte, error)) ([]byte, error) {
	const name = "update"
	b := v.batcher()
	err := b.CheckCall(ctx)
	if err == nil && f == nil {
		err = fmt.Errorf("%w: the function is nil", ErrInvalidArgument)
	}
	var out outcome
	if err == nil {
		out, err = b.ChangeHere(ctx, &change{kind: update, compute: f})
	}
	if err != nil {
		return nil, failure(ctx, name, b.Path(), err)
	}
	return out.Value, nil
}

// change carries c out and adds the operation to its error.
func (v *Value) change(ctx context.Context, name string, c *change) (outcome, error) {
	out, err := v.batcher().Change(ctx, c)
	if err != nil {
		return outcome{}, failure(ctx, name, v.Path(), err)
	}
	return out, nil
}

// Watch iterates over the value's states: first the present state, as the
// server knows it after a sync, then each newer state. States that pass while
// the loop's body runs are skipped. Watch never goes back, and continues in the
// next session after a loss. Watch ends with ctx, with the client, or with a
// permanent error (such as session.ErrNoAuth if the client may
// not read the znode); the error is the last element. Servers report neither
// the creation of an unreadable znode nor changes of the access list: Watch
// notices both on the next connection.
func (v *Value) Watch(ctx context.Context) iter.Seq2[State, error] {
	view := func(now batchwrite.State, exists bool) (State, error) { return stateOf(now, exists), nil }
	return batchwrite.Watch(ctx, v.batcher(), "value", len(receiver.OrZero(v).seed) > 0, view, State.same)
}
