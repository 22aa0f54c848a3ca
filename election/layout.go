package election

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
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

// rankedName is a new name of a candidate with a rank.
func (l Layout) rankedName(r lockformat.Rank) string {
	switch l {
	case LeaderSelector:
		return znode.Protected(r.RankText() + "-" + lockformat.CuratorMutex)
	case Kazoo:
		return znode.Hex("-" + r.RankText() + lockformat.KazooLock)
	default:
		return znode.Protected(r.RankText() + "-" + lockformat.CuratorLatch)
	}
}

// newName makes candidates' names of the layout.
func (l Layout) newName() (func() string, error) {
	switch l {
	case LeaderLatch:
		return func() string { return znode.Protected(lockformat.CuratorLatch) }, nil
	case LeaderSelector:
		return func() string { return znode.Protected(lockformat.CuratorMutex) }, nil
	case Kazoo:
		return func() string { return znode.Hex(lockformat.KazooLock) }, nil
	}
	return nil, fmt.Errorf("%w: Layout is %d; it must be LeaderLatch, LeaderSelector or Kazoo", ErrInvalidArgument, l)
}
