package discovery

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// Type is the lifetime of an instance; the names are Curator's.
type Type int

const (
	// Dynamic instances go with the session that registered them.
	Dynamic Type = iota
	// DynamicSequential instances also go with the session, and get a number
	// appended to their name, so that several may have the same id.
	DynamicSequential
	// Static instances stay until they are unregistered.
	Static
	// Permanent instances also stay until they are unregistered. ZooKeeper and
	// Curator treat Static and Permanent alike.
	Permanent
)

// String returns Curator's word for the type.
func (t Type) String() string {
	switch t {
	case Dynamic:
		return memberformat.Dynamic
	case DynamicSequential:
		return memberformat.Sequential
	case Static:
		return memberformat.Static
	case Permanent:
		return memberformat.Permanent
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
	// Service is the name of the service, and ID the name of the instance in the
	// service. Both are elements of a path.
	Service, ID string
	// Address is a host name or an IP address; may be empty.
	Address string
	// Port and SSLPort; 0 means none.
	Port, SSLPort int
	// Payload is additional data as JSON: a weight, a zone, a version. A Java
	// peer can read an object only if the object has "@class" and the class
	// exists in the peer. nil is null.
	Payload json.RawMessage
	// RegistrationTime, in milliseconds, in the years 1 to 9998: these can be
	// written as RFC 3339 or JSON in any time zone. Default: the time of the call
	// of Register.
	RegistrationTime time.Time
	// Type; default: Dynamic.
	Type Type
	// URISpec is a template of the instance's address, in Curator's form:
	// "{scheme}://{address}:{port}"; see BuildURI. May be empty.
	URISpec string
	// Disabled instances are listed, but should not be used.
	Disabled bool

	// Path is the instance's znode, and Token its czxid, which grows with
	// every registration. Functions that read instances set them; functions that
	// register instances ignore them.
	Path  string
	Token int64
	// Err says why the znode's data is not an instance: it wraps ErrMalformed, or
	// session.ErrNoAuth if the znode may not be read. Only Service, ID (the
	// znode's name), Path and, unless the znode may not be read, Token are set
	// then.
	Err error
}

// check refuses an instance that cannot be registered.
func (i Instance) check() error {
	if err := validateName("Service", i.Service); err != nil {
		return err
	}
	if err := validateName("ID", i.ID); err != nil {
		return err
	}
	switch {
	case i.Type < Dynamic || i.Type > Permanent:
		return fmt.Errorf("%w: Type is %d", ErrInvalidArgument, i.Type)
	case !utf8.ValidString(i.Address):
		return fmt.Errorf("%w: Address %q is not UTF-8", ErrInvalidArgument, i.Address)
	case !utf8.ValidString(i.URISpec):
		return fmt.Errorf("%w: URISpec %q is not UTF-8", ErrInvalidArgument, i.URISpec)
	case i.Port < 0 || i.Port > 65535:
		return fmt.Errorf("%w: Port is %d", ErrInvalidArgument, i.Port)
	case i.SSLPort < 0 || i.SSLPort > 65535:
		return fmt.Errorf("%w: SSLPort is %d", ErrInvalidArgument, i.SSLPort)
	case i.Payload != nil && (!json.Valid(i.Payload) || !utf8.Valid(i.Payload)):
		return fmt.Errorf("%w: Payload is not JSON: %.40q", ErrInvalidArgument, i.Payload)
	}
	if _, err := parseURI(i.URISpec); err != nil {
		return fmt.Errorf("URISpec: %w", err) // wraps ErrInvalidArgument
	}
	if !memberformat.Datable(i.RegistrationTime) {
		return fmt.Errorf("%w: RegistrationTime is in the year %d; it must be from 1 to 9998", ErrInvalidArgument, i.RegistrationTime.UTC().Year())
	}
	return nil
}
