package cache

import "github.com/zkrecipes/zkrecipes/session"

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
