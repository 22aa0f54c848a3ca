// Package barrierformat is the format of barriers and double barriers: the znodes that
// package barrier writes (docs/layout.md). The format is this library's alone. The package
// is pure; the dashboard recognizes barriers by it.
package barrierformat

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// The parts of the name of a party's znode, "_c_<uuid>-<ID>-party-<number>". Curator's
// protection has the same form.
const (
	// PartyMarker stands between the ID and the number.
	PartyMarker = "-party-"
	// partyPrefix is how every such name begins.
	partyPrefix = "_c_"
	// PartyHead is the length of the part before the ID: 40 bytes with the UUID and the
	// dash behind the UUID.
	PartyHead = len(partyPrefix) + znode.UUIDLength + 1
	// PartyTail is the length of the part behind the ID.
	PartyTail = len(PartyMarker) + znode.Digits
)

// RecentRoundsSuffix makes, of the path of a single barrier, the path of the znode with
// the list of its newest rounds. The znode is a sibling of the path, so that only
// parties are children.
const RecentRoundsSuffix = ".passed"

// MaxID is the longest ID in bytes.
const MaxID = 128

// PartyName is a new name for a party, without the number.
func PartyName(id string) string { return znode.Protected(id + PartyMarker) }

// Parties are the sequential znodes among children that may be parties, in their order;
// IDOf tells whether they are.
func Parties(children []string) znode.Queue { return znode.Parse(children, PartyMarker) }

// IDOf reads the ID out of a party's name, whose number has ten digits.
func IDOf(name string) (string, bool) {
	end := len(name) - PartyTail
	if end <= PartyHead || end-PartyHead > MaxID || !strings.HasPrefix(name, partyPrefix) || name[PartyHead-1] != '-' {
		return "", false
	}
	if !znode.IsHex(UUIDOf(name), "-") {
		return "", false
	}
	return name[PartyHead:end], true
}

// UUIDOf is the UUID in a party's name.
func UUIDOf(name string) string { return name[len(partyPrefix) : PartyHead-1] }

// ValidateID returns why an ID is invalid, or nil.
func ValidateID(id string) error {
	switch {
	case len(id) > MaxID:
		return fmt.Errorf("ID has %d bytes; it must have at most %d", len(id), MaxID)
	case strings.Contains(id, "/"):
		return fmt.Errorf("ID %q has a slash", id)
	case znode.ValidatePath("/a"+id) != nil:
		return fmt.Errorf("ID %q has characters that a znode's name must not have", id)
	}
	return nil
}

var errMore = errors.New("more than one value")
