package memberformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Instance is the data of a service instance, "<base>/<service>/<id>", as Curator's
// x-discovery writes it (JsonInstanceSerializer), in its order. Readers ignore other keys,
// and the order.
type Instance struct {
	Name    string          `json:"name"`
	ID      string          `json:"id"`
	Address *string         `json:"address"`
	Port    *int32          `json:"port"`
	SSLPort *int32          `json:"sslPort"`
	Payload json.RawMessage `json:"payload"`
	// Milliseconds since 1970.
	RegistrationTime int64  `json:"registrationTimeUTC"`
	Type             string `json:"serviceType"`
	URISpec          *URI   `json:"uriSpec"`
	// Enabled is written only when it is false: Curator leaves it out in its
	// compatible mode, the default, and reads its absence as true.
	Enabled *bool `json:"enabled,omitempty"`
}

// URI is Curator's UriSpec.
type URI struct {
	Parts []URIPart `json:"parts"`
}

// URIPart is a part of a UriSpec: text as it is, or the name of a variable.
type URIPart struct {
	Value    string `json:"value"`
	Variable bool   `json:"variable"`
}

// Curator's names for the types of instances, its ServiceType.
const (
	Dynamic    = "DYNAMIC"
	Sequential = "DYNAMIC_SEQUENTIAL"
	Static     = "STATIC"
	Permanent  = "PERMANENT"
)

// types are all of them.
func types() []string { return []string{Dynamic, Sequential, Static, Permanent} }

// Encode writes an instance as Java does.
func (i Instance) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // Java does not
	if err := enc.Encode(i); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Disabled reports whether the instance is not to be used.
func (i Instance) Disabled() bool { return i.Enabled != nil && !*i.Enabled }

// Datable reports whether t has a year of four digits wherever it is read: the JSON of one
// instance beyond that would fail, and take with it the list that the instance is in.
func Datable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9998
}

// Decode reads the data of an instance. An absent type is that of Curator's first
// versions, "", which is Dynamic; an absent or null payload is nil.
//
// The keys are looked up in a map, since the decoder of structs takes "Name" for
// "name", which Java's does not: a stranger's key would overwrite what we know.
func Decode(data []byte) (Instance, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return Instance{}, err
	}
	var i Instance
	var uri map[string]json.RawMessage
	err := errors.Join(
		field(keys, "name", &i.Name), field(keys, "id", &i.ID), field(keys, "address", &i.Address),
		field(keys, "port", &i.Port), field(keys, "sslPort", &i.SSLPort), field(keys, "registrationTimeUTC", &i.RegistrationTime),
		field(keys, "serviceType", &i.Type), field(keys, "uriSpec", &uri), field(keys, "enabled", &i.Enabled),
	)
	switch {
	case err != nil:
	case i.Name == "":
		err = errors.New("no name")
	case i.ID == "":
		err = errors.New("no id")
	case i.Type != "" && !slices.Contains(types(), i.Type):
		err = fmt.Errorf("serviceType %.40q", i.Type)
	case !Datable(time.UnixMilli(i.RegistrationTime)):
		err = fmt.Errorf("registrationTimeUTC: %d is not in the years 1 to 9998", i.RegistrationTime)
	}
	if err == nil {
		i.URISpec, err = decodeURI(uri)
	}
	if err != nil {
		return Instance{}, err
	}
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
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func decodeURI(keys map[string]json.RawMessage) (*URI, error) {
	var list []map[string]json.RawMessage
	if err := field(keys, "parts", &list); err != nil || len(list) == 0 {
		if err != nil {
			err = fmt.Errorf("uriSpec: %w", err)
		}
		return nil, err
	}
	out := &URI{Parts: make([]URIPart, len(list))}
	for n, p := range list {
		if err := errors.Join(field(p, "value", &out.Parts[n].Value), field(p, "variable", &out.Parts[n].Variable)); err != nil {
			return nil, fmt.Errorf("uriSpec: %w", err)
		}
	}
	return out, nil
}
