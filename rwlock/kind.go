package rwlock

import (
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/observe"
)

// kind is the kind of lock that a contender wants.
type kind int

const (
	reader kind = iota
	writer
)

// observed is the kind of an event.
func (k kind) observed() observe.Kind {
	if k == writer {
		return observe.WriteLock
	}
	return observe.ReadLock
}

// rule is how a contender of kind k waits.
func (k kind) rule() contender.Rule {
	if k == writer {
		return contender.Writer(lockformat.Writes)
	}
	return contender.Reader(lockformat.Writes)
}
