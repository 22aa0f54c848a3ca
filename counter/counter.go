package counter

import (
	"context"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/session"
)

// Counter is a number that all processes which use its path share. A node that
// is missing, or has no data, says 0.
type Counter struct{ r *register }

// State is what a counter says at one moment.
type State struct {
	Value int64
	// Exists is false while there is no znode; Value is 0 then.
	Exists bool
	// Version is the znode's: it counts changes, starts at 0 again with a znode
	// that is made anew, and becomes negative after 2147483647. To tell states
	// apart compare the whole State.
	Version int32
	// Zxid is of the transaction that made this state; 0 if there is no znode.
	// It never comes again, and grows with each change.
	Zxid int64
}

// New makes a counter on path. It does nothing yet; a wrong argument is reported
// by the first call of a method. Keep it and share it: each that changes something
// has a znode of its own until the session ends. o may be nil.
func New(client *session.Client, path string, o *Options) *Counter {
	r, opts := newRegister(client, path, o, nil)
	if r.err == nil && opts.Block != 0 {
		r.err = errOnlySequence
	}
	return &Counter{r}
}

// Path is the path that the counter was made with.
func (c *Counter) Path() string { return c.r.path }

// Get returns the number. It sees all changes that were committed before the
// call, which takes a quorum's word, as a change does: [Counter.Watch] reads more
// cheaply. Errors: ErrCorrupt, the context's error, or one of package session.
func (c *Counter) Get(ctx context.Context) (int64, error) {
	now, err := c.r.read(ctx)
	value := int64(0)
	if err == nil && now != nil {
		value, err = c.r.format.decode(now.data)
	}
	if err != nil {
		return 0, failure(ctx, "get", c.r.path, err)
	}
	return value, nil
}

// Add adds delta and returns what the number is then, once and for all: a lost
// answer is found out, never repeated blindly. Concurrent calls are carried out
// by one write, as if one after the other.
//
// When the error wraps session.ErrUnknownOutcome the change may have been made,
// or may still be: ctx ended, or the client was closed, while it was under way;
// or the session was lost over it, or somebody deleted the writer's marker, and
// the counter has changed since, or the same write began with a Set. With any
// other error nothing was changed: ErrOverflow, ErrCorrupt, ErrVersion, the
// context's error, or one of package session.
func (c *Counter) Add(ctx context.Context, delta int64) (int64, error) {
	return c.change(ctx, "add", &op{kind: add, to: delta})
}

// Increment is Add of 1.
func (c *Counter) Increment(ctx context.Context) (int64, error) { return c.Add(ctx, 1) }

// Decrement is Add of -1.
func (c *Counter) Decrement(ctx context.Context) (int64, error) { return c.Add(ctx, -1) }

// Set makes the number v, whatever it was; it also replaces data that is no
// number. Errors are those of Add, without ErrCorrupt and ErrVersion.
func (c *Counter) Set(ctx context.Context, v int64) error {
	_, err := c.change(ctx, "set", &op{kind: set, to: v})
	return err
}

// CompareAndSwap makes the number new if it is old, and reports whether it was.
// The answer is the truth, also when replies were lost. Errors are those of Add.
func (c *Counter) CompareAndSwap(ctx context.Context, old, new int64) (bool, error) {
	const name = "compare and swap"
	if err := c.r.begin(ctx); err != nil {
		return false, failure(ctx, name, c.r.path, err)
	}
	if err := c.r.format.fits(new); err != nil {
		return false, failure(ctx, name, c.r.path, err)
	}
	out, err := c.r.change(ctx, &op{kind: swap, from: old, to: new})
	if err != nil {
		return false, failure(ctx, name, c.r.path, err)
	}
	return out.ok, nil
}

// change carries o out and names it in its error.
func (c *Counter) change(ctx context.Context, name string, o *op) (int64, error) {
	err := c.r.begin(ctx)
	if err == nil && o.kind == set {
		err = c.r.format.fits(o.to)
	}
	var out outcome
	if err == nil {
		out, err = c.r.change(ctx, o)
	}
	if err != nil {
		return 0, failure(ctx, name, c.r.path, err)
	}
	return out.value, nil
}

// Watch iterates over the counter's states: first the present one, as the server
// knows it after a sync, then each newer one. States that pass while the loop's
// body runs are skipped, and it never goes back; it goes on in the next session
// when one is lost. It ends with ctx, with the client, or with an error that a
// later try would not mend (ErrCorrupt among them); that is the last element.
func (c *Counter) Watch(ctx context.Context) iter.Seq2[State, error] {
	read := func(ctx context.Context, s *session.Session) (State, *session.Watch, error) {
		now, exists, w, err := watch(ctx, s, c.r.path)
		if err != nil {
			return State{}, w, err
		}
		value, err := c.r.format.decode(now.data)
		if err != nil {
			w.Stop()
			return State{}, nil, err
		}
		return State{Value: value, Exists: exists, Version: now.version, Zxid: now.mzxid}, w, nil
	}
	return states(ctx, c.r, read)
}

// states are the states that read finds, with errors that name the path.
func states[T comparable](ctx context.Context, r *register, read follow.Read[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		const name = "watch"
		if err := r.begin(ctx); err != nil {
			var none T
			yield(none, failure(ctx, name, r.path, err))
			return
		}
		same := func(a, b T) bool { return a == b }
		for now, err := range follow.States(ctx, r.client, r.path, read, same) {
			if err != nil {
				err = failure(ctx, name, r.path, err)
			}
			if !yield(now, err) {
				return
			}
		}
	}
}
