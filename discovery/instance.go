package discovery

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/session"
)

// Type says how an instance is registered; the names are Curator's.
type Type int

const (
	// Dynamic instances go with the session of who registered them.
	Dynamic Type = iota
	// DynamicSequential instances do too, and get a number appended to their
	// name, so that several may have the same id.
	DynamicSequential
	// Static instances stay until they are unregistered.
	Static
	// Permanent instances do too. ZooKeeper and Curator make no difference
	// between the two; people may.
	Permanent
)

// String is Curator's word for the type.
func (t Type) String() string {
	switch t {
	case Dynamic:
		return javaDynamic
	case DynamicSequential:
		return javaSequential
	case Static:
		return javaStatic
	case Permanent:
		return javaPermanent
	}
	return fmt.Sprintf("Type(%d)", int(t))
}

// typeOf is the opposite of String.
func typeOf(s string) (Type, error) {
	for t := Dynamic; t <= Permanent; t++ {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("%w: serviceType %.40q", ErrMalformed, s)
}

func (t Type) mode() session.Mode {
	switch t {
	case DynamicSequential:
		return session.EphemeralSequential
	case Static, Permanent:
		return session.Persistent
	}
	return session.Ephemeral
}

// Instance is one instance of a service.
type Instance struct {
	// Service is the name of the service, and ID that of the instance in it.
	// Both are elements of a path.
	Service, ID string
	// Address is a host name or an IP address; may be empty.
	Address string
	// Port and SSLPort; 0 if there is none.
	Port, SSLPort int
	// Payload is what else is to be said, as JSON: a weight, a zone, a
	// version. A Java peer can read an object only if it has "@class" and
	// that class exists there. nil is null.
	Payload json.RawMessage
	// RegistrationTime, in milliseconds, in the years 1 to 9998: those that
	// can be written, as RFC 3339 or JSON, in any time zone. Default: when
	// Register was called.
	RegistrationTime time.Time
	// Type; default: Dynamic.
	Type Type
	// URISpec is a template of the instance's address, in Curator's form:
	// "{scheme}://{address}:{port}"; see BuildURI. May be empty.
	URISpec string
	// Disabled instances are listed, but not to be used.
	Disabled bool

	// Path is the instance's znode, and Token its czxid, which grows with
	// every registration. They are set by what reads instances, and ignored
	// by what registers them.
	Path  string
	Token int64
	// Err says why the znode's data is no instance: it wraps ErrMalformed,
	// or session.ErrNoAuth if it may not be read. Only Service, ID (the
	// znode's name), Path and, unless it may not be read, Token are set then.
	Err error
}

// check refuses what cannot be registered.
func (i Instance) check() error {
	if err := validName("Service", i.Service); err != nil {
		return err
	}
	if err := validName("ID", i.ID); err != nil {
		return err
	}
	switch {
	case i.Type < Dynamic || i.Type > Permanent:
		return fmt.Errorf("%w: Type is %d", ErrArgument, i.Type)
	case !utf8.ValidString(i.Address):
		return fmt.Errorf("%w: Address %q is not UTF-8", ErrArgument, i.Address)
	case !utf8.ValidString(i.URISpec):
		return fmt.Errorf("%w: URISpec %q is not UTF-8", ErrArgument, i.URISpec)
	case i.Port < 0 || i.Port > 65535:
		return fmt.Errorf("%w: Port is %d", ErrArgument, i.Port)
	case i.SSLPort < 0 || i.SSLPort > 65535:
		return fmt.Errorf("%w: SSLPort is %d", ErrArgument, i.SSLPort)
	case i.Payload != nil && (!json.Valid(i.Payload) || !utf8.Valid(i.Payload)):
		return fmt.Errorf("%w: Payload is no JSON: %.40q", ErrArgument, i.Payload)
	}
	if _, err := parseURI(i.URISpec); err != nil {
		return fmt.Errorf("URISpec: %w", err) // wraps ErrArgument
	}
	if !canBeWritten(i.RegistrationTime) {
		return fmt.Errorf("%w: RegistrationTime is in the year %d; it must be from 1 to 9998", ErrArgument, i.RegistrationTime.UTC().Year())
	}
	return nil
}

// canBeWritten reports whether t has a year of four digits wherever it is read: the
// JSON of one instance beyond that would fail, and take with it the list it is in.
func canBeWritten(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9998
}
