package counter

import (
	"context"
	"fmt"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Shared is a 32-bit number shared by all processes that use its path:
// Curator's SharedCount. A missing znode is created with the seed of the first
// client; a znode without data means 0.
type Shared struct{ r *batcher }

// VersionedValue is a number with its state; see [Shared.TrySet].
type VersionedValue struct {
	Value int32
	// Version is the znode's version; see [State].
	Version int32
	// Zxid is the id of the transaction of this state. A Zxid is never used
	// twice, and grows with each change, unless the ensemble is recreated empty.
	Zxid int64
	// node is the znode of this state.
	node batchwrite.Identity
}

// NewShared makes a shared count on path, which starts with seed if no client
// has used the path before. NewShared sends no request; the first call of a
// method reports an invalid argument. o may be nil.
func NewShared(client *session.Client, path string, seed int32, o *Options) *Shared {
	opts := o.orDefault()
	given := opts.Format
	opts.Format = CuratorInt
	r := newBatcher(client, path, opts, setup{initial: CuratorInt.encode(int64(seed))})
	if given != CuratorLong && given != CuratorInt { // the zero value, and the only valid value
		r.Refuse(fmt.Errorf("Format is %d; a Shared has always CuratorInt", int(given)))
	}
	return &Shared{r}
}

// batcher is the batcher of the shared count; a zero Shared has none.
func (c *Shared) batcher() *batcher { return receiver.OrZero(c).r.orMissing("counter.NewShared") }

// Path returns the path argument of [NewShared].
func (c *Shared) Path() string { return c.batcher().Path() }

// Get returns the number, like [Counter.Get].
func (c *Shared) Get(ctx context.Context) (VersionedValue, error) {
	v, err := c.get(ctx)
	if err != nil {
		return VersionedValue{}, failure(ctx, "get", c.batcher().Path(), err)
	}
	return v, nil
}

func (c *Shared) get(ctx context.Context) (VersionedValue, error) {
	now, err := c.batcher().ReadOrCreate(ctx)
	if err != nil {
		return VersionedValue{}, err
	}
	return versionedValue(now)
}

func versionedValue(now batchwrite.State) (VersionedValue, error) {
	v, err := CuratorInt.decode(now.Data)
	return VersionedValue{Value: int32(v), Version: now.Version, Zxid: now.Mzxid, node: now.Node}, err
}

// Set sets the number to v. Errors are those of [Counter.Set].
func (c *Shared) Set(ctx context.Context, v int32) error {
	if _, err := c.batcher().change(ctx, &op{kind: set, to: int64(v)}); err != nil {
		return failure(ctx, "set", c.batcher().Path(), err)
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
		return false, failure(ctx, "try set", c.batcher().Path(), err)
	}
	return out.OK, nil
}

// Watch iterates over the states of the number, like [Counter.Watch]. A missing
// or deleted znode is created with the seed.
func (c *Shared) Watch(ctx context.Context) iter.Seq2[VersionedValue, error] {
	return watch(ctx, c.batcher(), true, func(now batchwrite.State, _ bool) (VersionedValue, error) { return versionedValue(now) })
}
