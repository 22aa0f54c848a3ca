package rwlock

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
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

// newName makes names of contenders of kind k, but for the number.
func (l Layout) newName(k kind) (func() string, error) {
	switch l {
	case Curator:
		return func() string {
			return znode.Protected(map[kind]string{reader: lockformat.CuratorRead, writer: lockformat.CuratorWrite}[k])
		}, nil
	case Kazoo:
		return func() string {
			return znode.Hex(map[kind]string{reader: lockformat.KazooRead, writer: lockformat.KazooLock}[k])
		}, nil
	}
	return nil, fmt.Errorf("%w: Layout is %d; it must be Curator or Kazoo", ErrInvalidArgument, l)
}

// downgraded is a new name for the reader that takes the place of writer, the
// name of a contender: with the same number.
func (l Layout) downgraded(writer string) string {
	name, err := l.newName(reader)
	if err != nil {
		return "" // not reached: New has refused the layout
	}
	return name() + writer[len(writer)-znode.Digits:]
}
