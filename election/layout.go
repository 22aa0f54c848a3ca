package election

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Layout is the form of the names that a candidate writes. Every layout honors
// the names of all of them.
type Layout int

const (
	// LeaderLatch is the form of Curator's LeaderLatch.
	LeaderLatch Layout = iota
	// LeaderSelector is the form of Curator's LeaderSelector, which is that
	// of its mutex, and of go-zookeeper's Lock.
	LeaderSelector
	// Kazoo is the form of Kazoo's Election, which is that of its lock. Not
	// to be mixed with the others on a path that Curator or Kazoo uses:
	// Curator would order these names wrongly, and Kazoo sees no others.
	Kazoo
)

// What stands in a candidate's name before its number.
const (
	// latchMarker: Curator's LeaderLatch, "_c_<uuid>-latch-<seq>"; data: the
	// participant's id in UTF-8, which may be empty.
	latchMarker = "latch-"
	// selectorMarker: Curator's LeaderSelector, "_c_<uuid>-lock-<seq>"; data:
	// its id in UTF-8. go-zookeeper's Lock, "_c_<32 hex>-lock-<seq>".
	selectorMarker = "lock-"
	// kazooMarker: Kazoo's Election, "<32 hex>__lock__<seq>"; data: the
	// identifier in UTF-8.
	kazooMarker = "__lock__"
)

// name makes candidates' names of the layout.
func (l Layout) name() (func() string, error) {
	switch l {
	case LeaderLatch:
		return func() string { return znode.Protected(latchMarker) }, nil
	case LeaderSelector:
		return func() string { return znode.Protected(selectorMarker) }, nil
	case Kazoo:
		return func() string { return znode.Hex(kazooMarker) }, nil
	}
	return nil, fmt.Errorf("%w: Layout is %d; it must be LeaderLatch, LeaderSelector or Kazoo", ErrArgument, l)
}

// markers are those of all candidates that are honored.
func markers() []string { return []string{latchMarker, selectorMarker, kazooMarker} }
