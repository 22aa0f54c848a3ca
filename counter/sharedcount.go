package counter

import (
	"context"
	"fmt"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Shared is a 32-bit number shared by all processes that use its path:
// Curator's SharedCount. A missing znode is created with the seed of the first
// client; a znode without data means 0.
type Shared struct {
	r    *batcher
	seed int32
}

// VersionedValue is a number with its state; see [Shared.TrySet].
type VersionedValue struct {
	Value int32
	// Version is the znode's version; see [State].
	Version int32
	// Zxid is the id of the transaction of this state. A Zxid is never used
	// twice, and grows with each change, unless the ensemble is recreated empty.
	Zxid int64
	// node is the znode of this state.
	node identity
}

// NewShared makes a shared count on path, which starts with seed if no client
// has used the path before. NewShared sends no request; the first call of a
// method reports an invalid argument. o may be nil.
func NewShared(client *session.Client, path string, seed int32, o *Options) *Shared {
	r, opts := newBatcher(client, path, o, CuratorInt.encode(int64(seed)))
	r.format = CuratorInt
	switch {
	case r.err != nil:
	case opts.Block != 0:
		r.err = errOnlySequence
	case opts.Format != CuratorLong && opts.Format != CuratorInt: // the zero value, and the only valid value
		r.err = fmt.Errorf("%w: Format is %d; a Shared has always CuratorInt", ErrInvalidArgument, int(opts.Format))
	}
	return &Shared{r, seed}
}

// batcher is the batcher of the shared count; a zero Shared has none.
func (c *Shared) batcher() *batcher { return receiver.OrZero(c).r.orPanic("counter.NewShared") }

// Path returns the path argument of [NewShared].
func (c *Shared) Path() string { return c.batcher().path }

// Get returns the number, like [Counter.Get].
func (c *Shared) Get(ctx context.Context) (VersionedValue, error) {
	v, err := c.get(ctx)
	if err != nil {
		return VersionedValue{}, failure(ctx, "get", c.batcher().path, err)
	}
	return v, nil
}

func (c *Shared) get(ctx context.Context) (VersionedValue, error) {
	for {
		now, err := c.batcher().read(ctx)
		if err != nil {
			return VersionedValue{}, err
		}
		if now != nil {
			return c.value(*now)
		}
		s, err := c.batcher().client.Session(ctx)
		if err == nil {
			err = c.ensure(ctx, s)
		}
		if err != nil && !session.IsSessionLoss(err) {
			return VersionedValue{}, err
		}
	}
}

func (c *Shared) ensure(ctx context.Context, s *session.Session) error {
	return ensureNode(ctx, s, c.batcher().path, c.batcher().initial, &session.CreateOptions{ACL: c.batcher().acl})
}

func (c *Shared) value(now state) (VersionedValue, error) {
	v, err := CuratorInt.decode(now.data)
	return VersionedValue{Value: int32(v), Version: now.version, Zxid: now.mzxid, node: now.node}, err
}

// Set sets the number to v. Errors are those of [Counter.Set].
func (c *Shared) Set(ctx context.Context, v int32) error {
	if _, err := c.batcher().change(ctx, &op{kind: set, to: int64(v)}); err != nil {
		return failure(ctx, "set", c.batcher().path, err)
	}
	return nil
}

// TrySet sets the number to v if no client has set the number since seen, and
// reports whether it did. A number set to the same value again, or deleted and
// created again, differs from the seen state, also in an ensemble that was
// recreated empty. TrySet compares the Zxid and the znode's identity, which seen
// has from Get or Watch; of a value with only a Zxid, TrySet compares the Zxid
// alone. The answer is correct even if replies were lost. Errors are the same as
// for [Counter.Add].
func (c *Shared) TrySet(ctx context.Context, seen VersionedValue, v int32) (bool, error) {
	out, err := c.batcher().change(ctx, &op{kind: swapSeen, from: seen.Zxid, node: seen.node, to: int64(v)})
	if err != nil {
		return false, failure(ctx, "try set", c.batcher().path, err)
	}
	return out.ok, nil
}

// Watch iterates over the states of the number, like [Counter.Watch]. A missing
// or deleted znode is created with the seed.
func (c *Shared) Watch(ctx context.Context) iter.Seq2[VersionedValue, error] {
	read := func(ctx context.Context, s *session.Session) (VersionedValue, *session.Watch, error) {
		for {
			now, exists, w, err := readAndWatch(ctx, s, c.batcher().path)
			if err != nil {
				return VersionedValue{}, w, err
			}
			if exists {
				v, err := c.value(now)
				if err != nil {
					w.Stop()
					return VersionedValue{}, nil, err
				}
				return v, w, nil
			}
			w.Stop()
			if err := c.ensure(ctx, s); err != nil {
				return VersionedValue{}, nil, err
			}
		}
	}
	return states(ctx, c.batcher(), read)
}
