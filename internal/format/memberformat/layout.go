// Package memberformat is the format of members of groups and of instances of services
// (docs/layout.md): Curator's x-discovery and GroupMember, Kazoo's Party and ShallowParty,
// which package discovery writes as well. The package is pure; the dashboard recognizes
// members by it.
package memberformat

import (
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// The markers in the names of Kazoo's members.
const (
	// KazooParty: Kazoo's Party, "<32 digits>__party__", whose data is the id.
	KazooParty = "__party__"
	// KazooShallow: Kazoo's ShallowParty, between the digits and the id, without data:
	// the list of names is all that a reader reads. Kazoo takes the part after the
	// first "-" for the id, whatever the part before it.
	KazooShallow = "-"
)

// IsParty reports whether a member of Kazoo's Party has such a name.
func IsParty(name string) bool {
	return len(name) > znode.HexLength && znode.IsHex(name[:znode.HexLength], "") && strings.HasPrefix(name[znode.HexLength:], KazooParty)
}

// ShallowID is the id in the name of a member of Kazoo's ShallowParty. ok is false for
// names that Kazoo does not write.
func ShallowID(name string) (id string, ok bool) {
	if len(name) < znode.HexLength || !znode.IsHex(name[:znode.HexLength], "") {
		return "", false
	}
	return strings.CutPrefix(name[znode.HexLength:], KazooShallow)
}
