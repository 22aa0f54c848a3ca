package barrier

import (
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// What stands in the name of a party's znode, "_c_<uuid>-<ID>-party-<seq>".
// Nobody else writes or reads these names.
const (
	// partyMarker stands between the ID and the number.
	partyMarker = "-party-"
	// partyPrefix is how every such name begins: 40 bytes with the UUID and
	// the dash after it. Curator's protection has the same form.
	partyPrefix = "_c_"
	uuidSize    = 36
	// partyHead is the length of what stands before the ID.
	partyHead = len(partyPrefix) + uuidSize + 1
	// partyTail is the length of what stands after the ID.
	partyTail = len(partyMarker) + 10
)

// The kinds of a record, which is the data of a barrier's path (record.go).
// Ours alone: Curator's and Kazoo's double barriers keep no record.
const (
	kindBarrier = "barrier"
	kindDouble  = "double"
)

// rollSuffix makes, of a Barrier's path, that of the znode with the roll of its
// newest rounds (roll.go). It stands beside the path, so that only parties are
// children. Ours alone.
const rollSuffix = ".passed"

// maxID is the longest ID in bytes.
const maxID = 128

// maxRequest is the longest request in bytes that servers accept by default
// (jute.maxbuffer, 1,048,575), less room for what is not counted one by one.
const maxRequest = 0xfffff - 1024

// opSize is what an operation of a transaction takes beside its path: header,
// length of the path, version.
const opSize = 9 + 4 + 4

// member is a party's znode.
type member struct {
	seq  int32
	id   string
	name string
}

// partyName is a new name for a party, without the number.
func partyName(id string) string { return znode.Protected(id + partyMarker) }

// parseMembers picks the parties out of children, in the order of their
// numbers. All other children are strangers, and ignored. exhausted says that a
// party has a number that does not tell when it came.
func parseMembers(children []string) (members []member, exhausted bool) {
	q := znode.Parse(children, partyMarker)
	members = make([]member, 0, len(q.Entries))
	for _, e := range q.Entries {
		if id, ok := idOf(e.Name); ok {
			members = append(members, member{seq: e.Seq, id: id, name: e.Name})
		}
	}
	return members, q.Exhausted
}

// twins returns a number that two of members have, whom no server has numbered
// both: then a record could not say who was let through.
func twins(members []member) (seq int32, ok bool) {
	for i := 1; i < len(members); i++ {
		if members[i].seq == members[i-1].seq {
			return members[i].seq, true
		}
	}
	return 0, false
}

// idOf reads the ID out of a party's name, whose number has ten digits.
func idOf(name string) (string, bool) {
	end := len(name) - partyTail
	if end <= partyHead || end-partyHead > maxID || !strings.HasPrefix(name, partyPrefix) || name[partyHead-1] != '-' {
		return "", false
	}
	if strings.Trim(uuidOf(name), "0123456789abcdef-") != "" {
		return "", false
	}
	return name[partyHead:end], true
}

// uuidOf is the UUID in a party's name.
func uuidOf(name string) string { return name[len(partyPrefix) : partyHead-1] }

// validateID says what is wrong with an ID that somebody chose.
func validateID(id string) error {
	switch {
	case len(id) > maxID:
		return fmt.Errorf("%w: ID has %d bytes; it must have at most %d", ErrArgument, len(id), maxID)
	case strings.Contains(id, "/"):
		return fmt.Errorf("%w: ID %q has a slash", ErrArgument, id)
	case session.ValidatePath("/a"+id) != nil:
		return fmt.Errorf("%w: ID %q has characters that a znode's name must not have", ErrArgument, id)
	}
	return nil
}

// requestSize is how long the request is, at most, that releases so many
// parties with IDs as long as id: an operation for each, its number in the record
// and its UUID in the roll.
func requestSize(parties int, path, id string) int64 {
	child := len(path) + 1 + partyHead + max(len(id), len(session.NewID())) + partyTail
	return maxRoll + int64(parties)*int64(opSize+child+len("2147483647,")+len(" "+session.NewID()))
}
