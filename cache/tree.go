package cache

import (
	"context"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Tree is a view of a znode and everything below it, down to [Options.MaxDepth].
//
// Its methods are those of [View]: [View.Run] keeps the view up to date, and
// [View.Events] reports its changes.
type Tree[T any] struct{ *View[T] }

// NewTree makes a view of path, which need not exist, and everything below it.
// NewTree sends nothing; the first method call that returns an error reports an
// invalid argument. o may be nil.
func NewTree[T any](client *session.Client, path string, decode Decode[T], o *Options) *Tree[T] {
	return &Tree[T]{newView(client, path, decode, o, shape{depth: -1})}
}

// orZero returns the view, also for a nil Tree, of which no promoted method could report the
// nil pointer.
func (t *Tree[T]) orZero() *View[T] { return receiver.OrZero(t).View.orZero() }

// Path is [View.Path].
func (t *Tree[T]) Path() string { return t.orZero().Path() }

// Run is [View.Run].
func (t *Tree[T]) Run(ctx context.Context) error { return t.orZero().Run(ctx) }

// WaitSynced is [View.WaitSynced].
func (t *Tree[T]) WaitSynced(ctx context.Context) error { return t.orZero().WaitSynced(ctx) }

// Status is [View.Status].
func (t *Tree[T]) Status() Status { return t.orZero().Status() }

// Lookup is [View.Lookup].
func (t *Tree[T]) Lookup(path string) (Entry[T], bool) { return t.orZero().Lookup(path) }

// Snapshot is [View.Snapshot].
func (t *Tree[T]) Snapshot() *Snapshot[T] { return t.orZero().Snapshot() }

// All is [View.All].
func (t *Tree[T]) All() iter.Seq[Entry[T]] { return t.orZero().All() }

// Len is [View.Len].
func (t *Tree[T]) Len() int { return t.orZero().Len() }

// Events is [View.Events].
func (t *Tree[T]) Events(ctx context.Context) iter.Seq2[Event[T], error] {
	return t.orZero().Events(ctx)
}
