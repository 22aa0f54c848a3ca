package cache

import "github.com/zkrecipes/zkrecipes/session"

// Value is a view of one znode.
//
// Its methods are those of [View]: [View.Run] keeps it up to date, and
// [View.Events] tells what becomes of it.
type Value[T any] struct{ *View[T] }

// NewValue makes a view of the znode path, which need not exist. It does nothing
// yet; a wrong argument is reported by the first call of a method that returns
// an error. o may be nil.
//
// It is kept up to date by the watch that each read leaves behind: a persistent
// one would cost a request more, and not save one per change. Of changes that
// follow each other faster than they can be read, it sees the last.
func NewValue[T any](client *session.Client, path string, decode Decode[T], o *Options) *Value[T] {
	return &Value[T]{newView(client, path, decode, o, shape{depth: 0, plain: true})}
}

// Get is the znode as it is now known; false if it does not exist.
func (v *Value[T]) Get() (Entry[T], bool) { return v.Lookup(v.Path()) }
