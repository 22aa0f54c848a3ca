package discovery

import (
	"bytes"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// encode is the znode's data. The instance has passed check.
func (i Instance) encode() ([]byte, error) {
	out := memberformat.Instance{
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
		out.URISpec = &memberformat.URI{Parts: parts}
	}
	if i.Disabled {
		out.Enabled = new(bool)
	}
	return out.Encode()
}

func portJSON(port int) *int32 {
	if port == 0 {
		return nil
	}
	p := int32(port)
	return &p
}

// readInstance is the instance that a znode says, or, with Err, that it says none. denied
// is the reason why it could not be read.
func readInstance(service string, node session.Node, denied error) Instance {
	i, err := Instance{}, denied
	if err == nil {
		i, err = decodeInstance(node.Data)
	}
	if err != nil {
		i = Instance{Service: service, ID: znode.Base(node.Path), Err: err}
	}
	i.Path, i.Token = node.Path, node.Stat.Czxid
	return i
}

// decodeInstance reads the data of a znode.
func decodeInstance(data []byte) (Instance, error) {
	in, err := memberformat.Decode(data)
	if err != nil {
		return Instance{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	i := Instance{
		Service: in.Name, ID: in.ID, Port: portOf(in.Port), SSLPort: portOf(in.SSLPort), Payload: in.Payload,
		RegistrationTime: time.UnixMilli(in.RegistrationTime), Disabled: in.Disabled(),
	}
	if in.Address != nil {
		i.Address = *in.Address
	}
	if in.Type != "" {
		i.Type, err = typeOf(in.Type)
	}
	if err == nil && in.URISpec != nil {
		i.URISpec, err = formatURI(in.URISpec.Parts)
	}
	if err != nil {
		return Instance{}, err
	}
	return i, nil
}

func portOf(port *int32) int {
	if port == nil {
		return 0
	}
	return int(*port)
}

// saysTheSame reports whether data is this instance, registered at any time.
func (i Instance) saysTheSame(data []byte) bool {
	other, err := decodeInstance(data)
	if err != nil {
		return false
	}
	other.RegistrationTime = i.RegistrationTime
	a, errA := i.encode()
	b, errB := other.encode()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
