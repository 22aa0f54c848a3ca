package workerctl

import (
	"fmt"
	"maps"
	"slices"
)

// Identity identifies and describes a worker that joins a job.
type Identity struct {
	// Name identifies the worker within the job: a worker that comes back with
	// the same Name gets its id again. Use a name that stays when the process is
	// restarted or moved, such as the name of a StatefulSet's pod. Any text.
	// Default: the first of Addresses.
	Name string
	// Addresses of the worker, usually as "host:port". At least one, unless Name
	// is set.
	Addresses []string
	// Node, Rack and DataCenter describe the place of the worker. Optional.
	Node, Rack, DataCenter string
	// KV is shown to the other workers; see Worker.Update. Optional.
	KV map[string]string
}

// withDefaults checks the identity and fills in defaults.
func (identity Identity) withDefaults() (Identity, error) {
	identity.Addresses, identity.KV = slices.Clone(identity.Addresses), maps.Clone(identity.KV)
	if identity.Name == "" && len(identity.Addresses) > 0 {
		identity.Name = identity.Addresses[0]
	}
	if identity.Name == "" {
		return identity, fmt.Errorf("%w: Identity has neither a Name nor Addresses", ErrInvalidArgument)
	}
	for field, value := range map[string]string{
		"Identity.Name": identity.Name, "Identity.Node": identity.Node, "Identity.Rack": identity.Rack, "Identity.DataCenter": identity.DataCenter,
	} {
		if err := checkText(field, value); err != nil {
			return identity, err
		}
	}
	for _, a := range identity.Addresses {
		if a == "" {
			return identity, fmt.Errorf("%w: one of Identity.Addresses is empty", ErrInvalidArgument)
		}
		if err := checkText("Identity.Addresses", a); err != nil {
			return identity, err
		}
	}
	return identity, checkTexts("Identity.KV", identity.KV)
}

// identityOf returns the identity of m.
func identityOf(m member) Identity {
	return Identity{
		Name: m.Name, Addresses: slices.Clone(m.Addresses), Node: m.Node, Rack: m.Rack,
		DataCenter: m.DataCenter, KV: maps.Clone(m.KV),
	}
}
