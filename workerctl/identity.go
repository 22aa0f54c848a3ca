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

// withDefaults checks who and fills in defaults.
func (who Identity) withDefaults() (Identity, error) {
	who.Addresses, who.KV = slices.Clone(who.Addresses), maps.Clone(who.KV)
	if who.Name == "" && len(who.Addresses) > 0 {
		who.Name = who.Addresses[0]
	}
	if who.Name == "" {
		return who, fmt.Errorf("%w: Identity has neither a Name nor Addresses", ErrInvalidArgument)
	}
	for field, value := range map[string]string{
		"Identity.Name": who.Name, "Identity.Node": who.Node, "Identity.Rack": who.Rack, "Identity.DataCenter": who.DataCenter,
	} {
		if err := checkText(field, value); err != nil {
			return who, err
		}
	}
	for _, a := range who.Addresses {
		if a == "" {
			return who, fmt.Errorf("%w: one of Identity.Addresses is empty", ErrInvalidArgument)
		}
		if err := checkText("Identity.Addresses", a); err != nil {
			return who, err
		}
	}
	return who, checkTexts("Identity.KV", who.KV)
}

// identityOf returns the identity of m.
func identityOf(m member) Identity {
	return Identity{
		Name: m.Name, Addresses: slices.Clone(m.Addresses), Node: m.Node, Rack: m.Rack,
		DataCenter: m.DataCenter, KV: maps.Clone(m.KV),
	}
}
