package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// encode is the znode's data. The instance has passed check.
func (i Instance) encode() ([]byte, error) {
	out := instanceJSON{
		Name: i.Service, ID: i.ID, Payload: i.Payload,
		RegistrationTime: i.RegistrationTime.UnixMilli(), Type: i.Type.String(),
	}
	if i.Address != "" {
		out.Address = &i.Address
	}
	out.Port, out.SSLPort = portJSON(i.Port), portJSON(i.SSLPort)
	parts, err := parseURI(i.URISpec)
	if err != nil {
		return nil, err
	}
	if parts != nil {
		out.URISpec = &uriJSON{Parts: parts}
	}
	if i.Disabled {
		out.Enabled = new(bool)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // Java does not
	if err := enc.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func portJSON(port int) *int32 {
	if port == 0 {
		return nil
	}
	p := int32(port)
	return &p
}

// read is the instance that a znode says, or, with Err, that it says none. denied
// is why it could not be read.
func read(service string, node session.Node, denied error) Instance {
	i, err := Instance{}, denied
	if err == nil {
		i, err = decode(node.Data)
	}
	if err != nil {
		i = Instance{Service: service, ID: znode.Base(node.Path), Err: err}
	}
	i.Path, i.Token = node.Path, node.Stat.Czxid
	return i
}

// decode reads the data of a znode.
//
// The keys are looked up in a map, since the decoder of structs takes "Name" for
// "name", which Java's does not: a stranger's key would overwrite what we know.
func decode(data []byte) (Instance, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return Instance{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var (
		i      Instance
		typ    string
		port   int32
		secure int32
		millis int64
		uri    map[string]json.RawMessage
		on     = true
	)
	err := errors.Join(
		field(keys, "name", &i.Service), field(keys, "id", &i.ID), field(keys, "address", &i.Address),
		field(keys, "port", &port), field(keys, "sslPort", &secure), field(keys, "registrationTimeUTC", &millis),
		field(keys, "serviceType", &typ), field(keys, "uriSpec", &uri), field(keys, "enabled", &on),
	)
	switch {
	case err != nil:
	case i.Service == "":
		err = fmt.Errorf("%w: no name", ErrMalformed)
	case i.ID == "":
		err = fmt.Errorf("%w: no id", ErrMalformed)
	case typ != "":
		i.Type, err = typeOf(typ)
	}
	i.RegistrationTime = time.UnixMilli(millis)
	if err == nil && !canBeWritten(i.RegistrationTime) {
		err = fmt.Errorf("%w: registrationTimeUTC: %d is not in the years 1 to 9998", ErrMalformed, millis)
	}
	if err == nil {
		i.URISpec, err = decodeURI(uri)
	}
	if err != nil {
		return Instance{}, err
	}
	i.Port, i.SSLPort, i.Disabled = int(port), int(secure), !on
	if p := keys["payload"]; len(p) > 0 && string(p) != "null" {
		i.Payload = p
	}
	return i, nil
}

// field reads a key that may be missing or null.
func field(keys map[string]json.RawMessage, key string, into any) error {
	raw, ok := keys[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMalformed, key, err)
	}
	return nil
}

func decodeURI(keys map[string]json.RawMessage) (string, error) {
	var list []map[string]json.RawMessage
	if err := field(keys, "parts", &list); err != nil {
		return "", fmt.Errorf("uriSpec: %w", err)
	}
	parts := make([]uriPart, len(list))
	for n, p := range list {
		if err := errors.Join(field(p, "value", &parts[n].Value), field(p, "variable", &parts[n].Variable)); err != nil {
			return "", fmt.Errorf("uriSpec: %w", err)
		}
	}
	return formatURI(parts)
}

// saysTheSame reports whether data is this instance, registered at whatever
// time.
func (i Instance) saysTheSame(data []byte) bool {
	other, err := decode(data)
	if err != nil {
		return false
	}
	other.RegistrationTime = i.RegistrationTime
	a, errA := i.encode()
	b, errB := other.encode()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
