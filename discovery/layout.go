package discovery

import (
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// The variables that Curator's UriSpec knows.
const (
	varScheme     = "scheme"
	varName       = "name"
	varID         = "id"
	varAddress    = "address"
	varPort       = "port"
	varSSLPort    = "ssl-port"
	varTime       = "registration-time-utc"
	varType       = "service-type"
	varOpenBrace  = "["
	varCloseBrace = "]"
)

// Layout is the form of a group's znodes.
type Layout int

const (
	// Curator's GroupMember: "<path>/<id>", with data of the member's own.
	Curator Layout = iota
	// Kazoo's Party: "<path>/<32 hex digits>__party__", whose data is the id.
	Kazoo
	// KazooShallow is Kazoo's ShallowParty: "<path>/<32 hex digits>-<id>",
	// without data: the list of names is all that one reads.
	KazooShallow
)

// nameOf makes the name of a member.
func (l Layout) nameOf(id string) string {
	switch l {
	case Kazoo:
		return znode.Hex(memberformat.KazooParty)
	case KazooShallow:
		return znode.Hex(memberformat.KazooShallow) + id
	}
	return id
}

// member reads the name of a child. For Kazoo's Party the id is in the data. ok is
// false for a child that is not a member in this layout.
func (l Layout) member(name string) (id string, ok bool) {
	switch l {
	case Kazoo:
		return "", strings.Contains(name, memberformat.KazooParty)
	case KazooShallow:
		// As Kazoo reads it: what comes after the first "-".
		_, id, ok = strings.Cut(name, memberformat.KazooShallow)
		return id, ok
	}
	return name, true
}

// parent is the mode of the group's path: Curator makes a container, Kazoo,
// which does not expect that to be deleted, a persistent node.
func (l Layout) parent() session.Mode {
	if l == Curator {
		return session.Container
	}
	return session.Persistent
}

// validateName refuses a name that cannot be one element of a path.
func validateName(field, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: %s is empty", ErrInvalidArgument, field)
	case strings.Contains(name, "/"):
		return fmt.Errorf("%w: %s %q has a slash", ErrInvalidArgument, field, name)
	}
	if err := session.ValidatePath("/" + name); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalidArgument, field, err)
	}
	return nil
}
