package cache

import (
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Children is a view of a znode's children with their data, not of the znode
// itself.
//
// Its methods are those of [View]: [View.Run] keeps it up to date, and
// [View.Events] tells what becomes of it.
type Children[T any] struct{ *View[T] }

// NewChildren makes a view of the children of path, which need not exist. It
// does nothing yet; a wrong argument is reported by the first call of a method
// that returns an error. o may be nil.
//
// Its watch is a persistent recursive one: that alone tells which child has
// come, gone or changed, without the list being read again. The server also
// sends what happens deeper down, which is ignored: two levels of a tree that
// changes a lot below them are better watched in another way.
func NewChildren[T any](client *session.Client, path string, decode Decode[T], o *Options) *Children[T] {
	return &Children[T]{newView(client, path, decode, o, shape{bare: true, depth: 1})}
}

// Get is the child of that name; false if there is none.
func (c *Children[T]) Get(name string) (Entry[T], bool) {
	return c.Lookup(znode.Join(c.Path(), name))
}
