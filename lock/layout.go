package lock

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Layout is the form of a lock's names. Every layout honors the names of all
// layouts.
type Layout int

const (
	// Curator's InterProcessMutex, honored by go-zookeeper's Lock as well, and
	// by Kazoo's Lock with extra_lock_patterns=["-lock-"].
	Curator Layout = iota
	// Kazoo's Lock. Not to be mixed with Curator on one path: Curator would
	// order these names wrongly. The path is created as a persistent znode:
	// a Lock of Kazoo creates its path once, and fails with NoNodeError if a
	// server has deleted an empty container since.
	Kazoo
)

// nameMaker returns a function that makes contenders' names of the layout.
func (l Layout) nameMaker() (func() string, error) {
	switch l {
	case Curator:
		return func() string { return znode.Protected(lockformat.CuratorMutex) }, nil
	case Kazoo:
		return func() string { return znode.Hex(lockformat.KazooLock) }, nil
	}
	return nil, fmt.Errorf("%w: Layout is %d; it must be Curator or Kazoo", ErrInvalidArgument, l)
}
