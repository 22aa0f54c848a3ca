package cache

import "github.com/zkrecipes/zkrecipes/session"

// Tree is a view of a znode and all that is below it, or as far down as
// [Options.MaxDepth] says.
//
// Its methods are those of [View]: [View.Run] keeps it up to date, and
// [View.Events] tells what becomes of it.
type Tree[T any] struct{ *View[T] }

// NewTree makes a view of path, which need not exist, and what is below. It does
// nothing yet; a wrong argument is reported by the first call of a method that
// returns an error. o may be nil.
func NewTree[T any](client *session.Client, path string, decode Decode[T], o *Options) *Tree[T] {
	return &Tree[T]{newView(client, path, decode, o, shape{depth: -1})}
}
