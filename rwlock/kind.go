package rwlock

import (
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// kind is the kind of lock that a contender wants.
type kind int

const (
	reader kind = iota
	writer
)

// rule is how a contender of kind k waits.
func (k kind) rule() contender.Rule {
	if k == writer {
		return contender.Writer(lockformat.Writes)
	}
	return contender.Reader(lockformat.Writes)
}
