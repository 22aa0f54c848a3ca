package discovery

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// instanceJSON is the data of a service instance, "<base>/<service>/<id>", as
// Curator's x-discovery writes it (JsonInstanceSerializer), in its order.
// Readers ignore other keys, and the order.
type instanceJSON struct {
	Name    string          `json:"name"`
	ID      string          `json:"id"`
	Address *string         `json:"address"`
	Port    *int32          `json:"port"`
	SSLPort *int32          `json:"sslPort"`
	Payload json.RawMessage `json:"payload"`
	// Milliseconds since 1970.
	RegistrationTime int64    `json:"registrationTimeUTC"`
	Type             string   `json:"serviceType"`
	URISpec          *uriJSON `json:"uriSpec"`
	// Enabled is written only when it is false: Curator leaves it out in its
	// compatible mode, the default, and reads its absence as true.
	Enabled *bool `json:"enabled,omitempty"`
}

// uriJSON is Curator's UriSpec.
type uriJSON struct {
	Parts []uriPart `json:"parts"`
}

// uriPart is a part of a UriSpec: text as it is, or the name of a variable.
type uriPart struct {
	Value    string `json:"value"`
	Variable bool   `json:"variable"`
}

// What Curator calls the types of instances, its ServiceType.
const (
	javaDynamic    = "DYNAMIC"
	javaSequential = "DYNAMIC_SEQUENTIAL"
	javaStatic     = "STATIC"
	javaPermanent  = "PERMANENT"
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

// What stands in the names of Kazoo's members.
const (
	// kazooParty: Kazoo's Party, after the digits.
	kazooParty = "__party__"
	// kazooShallow: Kazoo's ShallowParty, between the digits and the id.
	kazooShallow = "-"
)

// nameOf makes the name of a member.
func (l Layout) nameOf(id string) string {
	switch l {
	case Kazoo:
		return znode.Hex(kazooParty)
	case KazooShallow:
		return znode.Hex(kazooShallow) + id
	}
	return id
}

// member reads the name of a child. For Kazoo's Party the id is in the data. ok
// is false for what is no member in this layout.
func (l Layout) member(name string) (id string, ok bool) {
	switch l {
	case Kazoo:
		return "", strings.Contains(name, kazooParty)
	case KazooShallow:
		// As Kazoo reads it: what comes after the first "-".
		_, id, ok = strings.Cut(name, kazooShallow)
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

// sequentialOf reports whether name is that of a DYNAMIC_SEQUENTIAL instance of
// this id: "<id><number>", with nothing between. The number has ten characters, or
// a minus and ten digits.
func sequentialOf(name, id string) bool {
	number, ok := strings.CutPrefix(name, id)
	if digits, negative := strings.CutPrefix(number, "-"); negative && len(digits) == 10 {
		number = digits
	} else if negative {
		number = "0" + digits
	}
	return ok && len(number) == 10 && strings.Trim(number, "0123456789") == ""
}

// validName refuses what cannot be one element of a path.
func validName(field, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: %s is empty", ErrArgument, field)
	case strings.Contains(name, "/"):
		return fmt.Errorf("%w: %s %q has a slash", ErrArgument, field, name)
	}
	if err := session.ValidatePath("/" + name); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrArgument, field, err)
	}
	return nil
}
