package cache

import (
	"context"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Value is a view of one znode.
//
// Its methods are those of [View]: [View.Run] keeps the view up to date, and
// [View.Events] reports its changes.
type Value[T any] struct{ *View[T] }

// NewValue makes a view of the znode path, which need not exist. NewValue sends
// nothing; the first method call that returns an error reports an invalid
// argument. o may be nil.
//
// The view uses the watch that each read leaves behind: a persistent watch would
// cost one more request, and would save none per change. Of changes that follow
// each other faster than they can be read, the view shows the last.
func NewValue[T any](client *session.Client, path string, decode Decode[T], o *Options) *Value[T] {
	return &Value[T]{newView(client, path, decode, o, shape{depth: 0, plain: true})}
}

// Get returns the znode as the view knows it; false if it does not exist.
func (v *Value[T]) Get() (Entry[T], bool) { return v.Lookup(v.Path()) }

// orZero returns the view, also for a nil Value, of which no promoted method could
// report the nil pointer.
func (v *Value[T]) orZero() *View[T] { return receiver.OrZero(v).View.orZero() }

// Path is [View.Path].
func (v *Value[T]) Path() string { return v.orZero().Path() }

// Run is [View.Run].
func (v *Value[T]) Run(ctx context.Context) error { return v.orZero().Run(ctx) }

// WaitSynced is [View.WaitSynced].
func (v *Value[T]) WaitSynced(ctx context.Context) error { return v.orZero().WaitSynced(ctx) }

// Status is [View.Status].
func (v *Value[T]) Status() Status { return v.orZero().Status() }

// Lookup is [View.Lookup].
func (v *Value[T]) Lookup(path string) (Entry[T], bool) { return v.orZero().Lookup(path) }

// Snapshot is [View.Snapshot].
func (v *Value[T]) Snapshot() *Snapshot[T] { return v.orZero().Snapshot() }

// All is [View.All].
func (v *Value[T]) All() iter.Seq[Entry[T]] { return v.orZero().All() }

// Len is [View.Len].
func (v *Value[T]) Len() int { return v.orZero().Len() }

// Events is [View.Events].
func (v *Value[T]) Events(ctx context.Context) iter.Seq2[Event[T], error] {
	return v.orZero().Events(ctx)
}
