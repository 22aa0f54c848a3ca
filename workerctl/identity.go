package workerctl

import (
	"fmt"
	"maps"
	"slices"
)

// Identity is who joins a job.
type Identity struct {
	// Name tells workers of a job apart, and lets one that comes back get its
	// id again: a name that stays when the process is started anew or moves, such
	// as that of a StatefulSet's pod. Any text. Default: the first of Addresses.
	Name string
	// Addresses where the worker can be reached, as "host:port" as a rule. At
	// least one, unless there is a Name.
	Addresses []string
	// Node, Rack and DataCenter say where it runs. Optional.
	Node, Rack, DataCenter string
	// KV is for the other workers to see; see Worker.Update. Optional.
	KV map[string]string
}

// withDefaults checks who and fills in what it leaves open.
func (who Identity) withDefaults() (Identity, error) {
	who.Addresses, who.KV = slices.Clone(who.Addresses), maps.Clone(who.KV)
	if who.Name == "" && len(who.Addresses) > 0 {
		who.Name = who.Addresses[0]
	}
	if who.Name == "" {
		return who, fmt.Errorf("%w: Identity has neither a Name nor Addresses", ErrArgument)
	}
	for field, value := range map[string]string{
		"Identity.Name": who.Name, "Identity.Node": who.Node, "Identity.Rack": who.Rack, "Identity.DataCenter": who.DataCenter,
	} {
		if err := text(field, value); err != nil {
			return who, err
		}
	}
	for _, a := range who.Addresses {
		if a == "" {
			return who, fmt.Errorf("%w: one of Identity.Addresses is empty", ErrArgument)
		}
		if err := text("Identity.Addresses", a); err != nil {
			return who, err
		}
	}
	return who, texts("Identity.KV", who.KV)
}

// identity is who m is.
func (m member) identity() Identity {
	return Identity{
		Name: m.Name, Addresses: slices.Clone(m.Addresses), Node: m.Node, Rack: m.Rack,
		DataCenter: m.DataCenter, KV: maps.Clone(m.KV),
	}
}
