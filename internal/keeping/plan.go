package keeping

import (
	"bytes"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Entry is a znode that a caller wants to be registered.
type Entry struct {
	Dir  string // the parent's path
	Name string // last element of the path; the number is missing if it is sequential
	Data []byte
	Mode session.Mode
	TTL  time.Duration // of a TTL mode
	// Adopt reports, for an entry that does not go with a session, whether existing
	// data is this very entry. nil: never.
	Adopt func(data []byte) bool
	// Random: the name is new, and no other client uses it, so that a znode of this name
	// is this entry, whatever its data.
	Random bool
	// Sole: no other registration of the client has this path, so that a znode of it that
	// goes with the session is this entry, whatever its data.
	Sole bool
	// Stays: the end of the registration leaves the znode as it is.
	Stays bool
	// Folder: the znode may have children, which keep it from being deleted. Then it stays
	// when the registration ends.
	Folder bool
	// Reported is the path that the observer gets; default: Dir.
	Reported string
	// Subject is what the caller's entry stands for; this package does not use it.
	Subject any
}

// Path is the path of the znode, without the number of a sequential znode.
func (e *Entry) Path() string { return znode.Join(e.Dir, e.Name) }
func (e *Entry) sequential() bool {
	switch e.Mode {
	case session.EphemeralSequential, session.PersistentSequential, session.PersistentSequentialTTL:
		return true
	}
	return false
}

// Ephemeral reports whether the znode goes with a session.
func (e *Entry) Ephemeral() bool {
	return e.Mode == session.EphemeralSequential || e.Mode == session.Ephemeral
}

// withData is e with the data that its znode has.
func (e *Entry) withData(data []byte) *Entry {
	if bytes.Equal(data, e.Data) {
		return e
	}
	now := *e
	now.Data = data
	return &now
}

// reported is the path that the observer gets.
func (e *Entry) reported() string {
	if e.Reported != "" {
		return e.Reported
	}
	return e.Dir
}

// isMadeOf reports whether data of the znode that e may have made is that of e.
func (e *Entry) isMadeOf(data []byte) bool {
	return e.Random || e.Sole && e.Ephemeral() || bytes.Equal(data, e.Data)
}

// stays reports whether nothing is to be done for e, which may be nil, when no entry is
// wanted any more.
func (e *Entry) stays() bool { return e == nil || e.Stays }

// unique reports whether no other client ever creates a znode of this path.
func (e *Entry) unique() bool { return e.Random || e.sequential() }

// samePlace reports whether a and b differ in their data at most.
func (e *Entry) samePlace(o *Entry) bool {
	return e.Dir == o.Dir && e.Name == o.Name && e.Mode == o.Mode
}

// place is a znode of ours.
type place struct {
	entry   *Entry // its content
	path    string
	czxid   int64
	version int32
	// unanswered is the error of a set on condition of version that got no answer; nil if
	// there is none, or if version was learned since.
	unanswered error
	// deleted: a deletion got no answer, and nothing was learned since.
	deleted bool
	// adopted: the znode existed before, and its first registration has not ended: if
	// that is given up, the znode stays.
	adopted bool
}

// stays reports whether nothing is to be done for p, which may be nil, when no entry is
// wanted any more.
func (p *place) stays() bool { return p == nil || p.adopted || p.entry.Stays }

// step is the next action.
type step int

const (
	stepNothing step = iota
	stepCreate       // no znode exists
	stepSet          // other data
	stepConfirm      // the same data, requested again: another client may have written since
	stepMove         // another place, in one transaction
	stepRemove       // nothing is wanted
)

// nextStep compares the present place with the wanted entry; nil means none.
func nextStep(have *place, want *Entry) step {
	switch {
	case have == nil && want == nil:
		return stepNothing
	case have == nil:
		return stepCreate
	case want == nil:
		return stepRemove
	case !have.entry.samePlace(want):
		return stepMove
	case !bytes.Equal(have.entry.Data, want.Data):
		return stepSet
	case have.entry != want:
		return stepConfirm
	}
	return stepNothing
}
