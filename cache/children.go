package cache

import (
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
