package barrier

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// The names and kinds, described in package barrierformat. Not used by other
// libraries.
const (
	partyMarker        = barrierformat.PartyMarker
	recentRoundsSuffix = barrierformat.RecentRoundsSuffix
	kindBarrier        = barrierformat.KindBarrier
	kindDouble         = barrierformat.KindDouble
)

// maxRequest is the longest request in bytes that servers accept by default
// (jute.maxbuffer, 1,048,575), less room for uncounted parts.
const maxRequest = 0xfffff - 1024

// opSize is the size of an operation in a transaction without its path: header,
// length of the path, version.
const opSize = 9 + 4 + 4

// member is a party's znode.
type member struct {
	seq  int32
	id   string
	name string
}

// parseMembers picks the parties out of children, in the order of their
// numbers. All other children are foreign, and ignored. exhausted: a party has
// a number that does not show its order of arrival.
func parseMembers(children []string) (members []member, exhausted bool) {
	q := barrierformat.Parties(children)
	members = make([]member, 0, len(q.Entries))
	for _, e := range q.Entries {
		if id, ok := barrierformat.IDOf(e.Name); ok {
			members = append(members, member{seq: e.Seq, id: id, name: e.Name})
		}
	}
	return members, q.Exhausted
}

// twins returns a number shared by two members. No server assigns a number
// twice; with twins, a record could not tell which member was let through.
func twins(members []member) (seq int32, ok bool) {
	for i := 1; i < len(members); i++ {
		if members[i].seq == members[i-1].seq {
			return members[i].seq, true
		}
	}
	return 0, false
}

// validateID describes the defect of an ID chosen by a user.
func validateID(id string) error {
	if err := barrierformat.ValidateID(id); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	return nil
}

// requestSize is the maximal length of the request that releases this number of
// parties with IDs as long as id: an operation for each, its number in the
// record and its UUID in the recent rounds.
func requestSize(parties int, path, id string) int64 {
	child := len(path) + 1 + barrierformat.PartyHead + max(len(id), len(session.NewID())) + barrierformat.PartyTail
	return maxRoll + int64(parties)*int64(opSize+child+len("2147483647,")+len(" "+session.NewID()))
}
