package cache

import (
	"context"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Children is a view of a znode's children with their data, without the znode
// itself.
//
// Its methods are those of [View]: [View.Run] keeps the view up to date, and
// [View.Events] reports its changes.
type Children[T any] struct{ *View[T] }

// NewChildren makes a view of the children of path, which need not exist.
// NewChildren sends nothing; the first method call that returns an error reports
// an invalid argument. o may be nil.
//
// The view uses a persistent recursive watch: only that watch tells which child
// has come, gone or changed, without a new list. The server also sends the events
// of deeper levels, which are ignored: for a tree with many changes below its
// first two levels, use another kind of watch.
func NewChildren[T any](client *session.Client, path string, decode Decode[T], o *Options) *Children[T] {
	return &Children[T]{newView(client, path, decode, o, shape{bare: true, depth: 1})}
}

// Get returns the child of that name; false if it does not exist.
func (c *Children[T]) Get(name string) (Entry[T], bool) {
	return c.Lookup(znode.Join(c.Path(), name))
}

// orZero returns the view, also for a nil Children, of which no promoted method could
// report the nil pointer.
func (c *Children[T]) orZero() *View[T] { return receiver.OrZero(c).View.orZero() }

// Path is [View.Path].
func (c *Children[T]) Path() string { return c.orZero().Path() }

// Run is [View.Run].
func (c *Children[T]) Run(ctx context.Context) error { return c.orZero().Run(ctx) }

// WaitSynced is [View.WaitSynced].
func (c *Children[T]) WaitSynced(ctx context.Context) error { return c.orZero().WaitSynced(ctx) }

// Status is [View.Status].
func (c *Children[T]) Status() Status { return c.orZero().Status() }

// Lookup is [View.Lookup].
func (c *Children[T]) Lookup(path string) (Entry[T], bool) { return c.orZero().Lookup(path) }

// Snapshot is [View.Snapshot].
func (c *Children[T]) Snapshot() *Snapshot[T] { return c.orZero().Snapshot() }

// All is [View.All].
func (c *Children[T]) All() iter.Seq[Entry[T]] { return c.orZero().All() }

// Len is [View.Len].
func (c *Children[T]) Len() int { return c.orZero().Len() }

// Events is [View.Events].
func (c *Children[T]) Events(ctx context.Context) iter.Seq2[Event[T], error] {
	return c.orZero().Events(ctx)
}
