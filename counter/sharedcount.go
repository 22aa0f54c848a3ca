package counter

import (
	"context"
	"fmt"
	"iter"

	"github.com/zkrecipes/zkrecipes/session"
)

// Shared is a 32-bit number that all processes which use its path share:
// Curator's SharedCount. A znode that is missing is made, with the seed of
// whoever comes first; one without data says 0.
type Shared struct {
	r    *register
	seed int32
}

// VersionedValue is a number and which state of it that was; see
// [Shared.TrySet].
type VersionedValue struct {
	Value int32
	// Version is the znode's; see [State].
	Version int32
	// Zxid is of the transaction that made this state. It never comes again,
	// and grows with each change; TrySet compares it, and it alone.
	Zxid int64
}

// NewShared makes a shared count on path, which starts with seed if nobody has
// used it before. It does nothing yet; a wrong argument is reported by the first
// call of a method. o may be nil.
func NewShared(client *session.Client, path string, seed int32, o *Options) *Shared {
	r, opts := newRegister(client, path, o, CuratorInt.encode(int64(seed)))
	r.format = CuratorInt
	switch {
	case r.err != nil:
	case opts.Block != 0:
		r.err = errOnlySequence
	case opts.Format != CuratorLong && opts.Format != CuratorInt: // the zero value, and the only one
		r.err = fmt.Errorf("%w: Format is %d; a Shared has always CuratorInt", ErrArgument, int(opts.Format))
	}
	return &Shared{r, seed}
}

// Path is the path that the shared count was made with.
func (c *Shared) Path() string { return c.r.path }

// Get returns the number, like [Counter.Get].
func (c *Shared) Get(ctx context.Context) (VersionedValue, error) {
	v, err := c.get(ctx)
	if err != nil {
		return VersionedValue{}, failure(ctx, "get", c.r.path, err)
	}
	return v, nil
}

func (c *Shared) get(ctx context.Context) (VersionedValue, error) {
	for {
		now, err := c.r.read(ctx)
		if err != nil {
			return VersionedValue{}, err
		}
		if now != nil {
			return c.value(*now)
		}
		s, err := c.r.client.Session(ctx)
		if err == nil {
			err = c.ensure(ctx, s)
		}
		if err != nil && !session.Passing(err) {
			return VersionedValue{}, err
		}
	}
}

func (c *Shared) ensure(ctx context.Context, s *session.Session) error {
	return ensure(ctx, s, c.r.path, c.r.initial, &session.CreateOptions{ACL: c.r.acl})
}

func (c *Shared) value(now state) (VersionedValue, error) {
	v, err := CuratorInt.decode(now.data)
	return VersionedValue{Value: int32(v), Version: now.version, Zxid: now.mzxid}, err
}

// Set makes the number v, whatever it was. Errors are those of [Counter.Set].
func (c *Shared) Set(ctx context.Context, v int32) error {
	if _, err := c.r.change(ctx, &op{kind: set, to: int64(v)}); err != nil {
		return failure(ctx, "set", c.r.path, err)
	}
	return nil
}

// TrySet makes the number v if nobody has set it since it was seen, and reports
// whether that was so. A number that was set to the same value again, or deleted
// and made anew, is not what was seen. The answer is the truth, also when replies
// were lost. Errors are those of [Counter.Add].
func (c *Shared) TrySet(ctx context.Context, seen VersionedValue, v int32) (bool, error) {
	out, err := c.r.change(ctx, &op{kind: swapSeen, from: seen.Zxid, to: int64(v)})
	if err != nil {
		return false, failure(ctx, "try set", c.r.path, err)
	}
	return out.ok, nil
}

// Watch iterates over the states of the number, like [Counter.Watch]. A node
// that is missing, or is deleted, is made with the seed.
func (c *Shared) Watch(ctx context.Context) iter.Seq2[VersionedValue, error] {
	read := func(ctx context.Context, s *session.Session) (VersionedValue, *session.Watch, error) {
		for {
			now, exists, w, err := watch(ctx, s, c.r.path)
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
	return states(ctx, c.r, read)
}
