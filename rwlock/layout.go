package rwlock

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Layout is the form of the names that a lock writes. Every layout honors the
// names of both.
type Layout int

const (
	// Curator's InterProcessReadWriteLock.
	Curator Layout = iota
	// Kazoo's ReadLock and WriteLock. Not to be mixed with Curator on one
	// path: Curator would order these names wrongly.
	Kazoo
)

// What stands in a contender's name before its number.
const (
	// curatorRead and curatorWrite: Curator's InterProcessReadWriteLock,
	// "_c_<uuid>-__READ__<seq>" and "_c_<uuid>-__WRIT__<seq>". A reader that
	// was a writer has the writer's number, in a name that the server did not
	// append to (Curator since 5.5.0).
	curatorRead  = "__READ__"
	curatorWrite = "__WRIT__"
	// kazooRead: Kazoo's ReadLock, "<32 hex>__rlock__<seq>".
	kazooRead = "__rlock__"
	// kazooWrite: Kazoo's WriteLock, and its Lock, which knows of no readers,
	// "<32 hex>__lock__<seq>".
	kazooWrite = "__lock__"
)

// digits is how long the number in a contender's name is.
const digits = 10

// markers are the markers of all contenders that count.
func markers() []string { return []string{curatorRead, curatorWrite, kazooRead, kazooWrite} }

// writes tells whether contenders with this marker want the lock for themselves
// alone.
func writes(marker string) bool { return marker == curatorWrite || marker == kazooWrite }

// name makes names of contenders of kind k, but for the number.
func (l Layout) name(k kind) (func() string, error) {
	switch l {
	case Curator:
		return func() string { return znode.Protected(map[kind]string{reader: curatorRead, writer: curatorWrite}[k]) }, nil
	case Kazoo:
		return func() string { return znode.Hex(map[kind]string{reader: kazooRead, writer: kazooWrite}[k]) }, nil
	}
	return nil, fmt.Errorf("%w: Layout is %d; it must be Curator or Kazoo", ErrArgument, l)
}

// downgraded is a new name for the reader that takes the place of writer, the
// name of a contender: with the same number.
func (l Layout) downgraded(writer string) string {
	name, err := l.name(reader)
	if err != nil {
		return "" // not reached: New has refused the layout
	}
	return name() + writer[len(writer)-digits:]
}
