package cache

import "github.com/zkrecipes/zkrecipes/session"

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
