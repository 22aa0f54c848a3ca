package discovery

import (
	"bytes"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// entry is a node that a caller wants to be registered.
type entry struct {
	dir  string // the parent's path
	name string // last element of the path; the number is missing if it is sequential
	data []byte
	mode session.Mode
	// adopt reports, for an entry that does not go with a session, whether existing
	// data is this very entry. nil: never.
	adopt func(data []byte) bool
	// random: the name is new, and no other client uses it.
	random bool
	// instance that it stands for; a group's members have none.
	instance Instance
}

func (e *entry) path() string     { return znode.Join(e.dir, e.name) }
func (e *entry) sequential() bool { return e.mode == session.EphemeralSequential }
func (e *entry) ephemeral() bool {
	return e.mode == session.EphemeralSequential || e.mode == session.Ephemeral
}

// unique reports whether no other client ever creates a znode of this path.
func (e *entry) unique() bool { return e.random || e.sequential() }

// samePlace reports whether a and b differ in their data at most.
func (e *entry) samePlace(o *entry) bool {
	return e.dir == o.dir && e.name == o.name && e.mode == o.mode
}

// place is a znode of ours.
type place struct {
	entry   *entry // its content
	path    string
	czxid   int64
	version int32
}

// step is the next action.
type step int

const (
	stepNothing step = iota
	stepCreate       // no znode exists
	stepSet          // other data
	stepMove         // another place, in one transaction
	stepRemove       // nothing is wanted
)

// nextStep compares the present place with the wanted entry; nil means none.
func nextStep(have *place, want *entry) step {
	switch {
	case have == nil && want == nil:
		return stepNothing
	case have == nil:
		return stepCreate
	case want == nil:
		return stepRemove
	case !have.entry.samePlace(want):
		return stepMove
	case !bytes.Equal(have.entry.data, want.data):
		return stepSet
	}
	return stepNothing
}
