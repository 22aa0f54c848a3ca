package cluster

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strconv"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// Where the cluster is in ZooKeeper. The three parents are persistent.
const (
	// Election has the candidates as children.
	Election = "/election"
	// registries is the base of the two services; the znode of an instance is
	// "/<service>/n_<number>", ephemeral, with Curator's JSON as data.
	registries   = "/"
	coordinators = "coordinators_service_registry"
	workers      = "workers_service_registry"
	entryName    = "n_"
)

// Paths are the parents.
func Paths() []string { return []string{Election, registries + coordinators, registries + workers} }

// entry is the payload of an instance: the facts that other nodes need without
// asking the node.
type entry struct {
	Name string `json:"name"`
	// Znode in the election.
	Znode string `json:"znode"`
	// Token of the leadership, for a coordinator only: of two coordinators, the
	// one with the larger token counts.
	Token int64 `json:"token,omitempty"`
}

// errAddress: not a valid address of a node.
var errAddress = errors.New("must be ip:port: the ip of one machine, no name, and a port from 1 to 65535")

// parseAddress reads the address of a node. The address is foreign data, and
// will receive requests. A name would need a name server, and could be any part
// of a URL; link-local addresses may belong to services that trust near
// clients.
func parseAddress(address string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(address)
	ip := a.Addr().Unmap()
	if err != nil || a.Port() == 0 || ip.Zone() != "" || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast() {
		return netip.AddrPort{}, errAddress
	}
	return netip.AddrPortFrom(ip, a.Port()), nil
}

// instance is a node's registration.
func instance(service string, address netip.AddrPort, e entry) discovery.Instance {
	payload, _ := json.Marshal(e) // strings and a number
	return discovery.Instance{
		Service: service, ID: entryName, Type: discovery.DynamicSequential,
		Address: address.Addr().String(), Port: int(address.Port()), Payload: payload,
	}
}

// peer is a registered node.
type peer struct {
	entry
	address string
	path    string // of the instance
}

// peersOf reads instances; foreign instances are left out.
func peersOf(list []discovery.Instance) []peer {
	out := make([]peer, 0, len(list))
	for _, i := range list {
		var e entry
		if i.Err != nil || json.Unmarshal(i.Payload, &e) != nil || session.ValidatePath(e.Znode) != nil || !validName(e.Name) {
			continue
		}
		address, err := parseAddress(net.JoinHostPort(i.Address, strconv.Itoa(i.Port)))
		if err != nil {
			continue
		}
		out = append(out, peer{e, address.String(), i.Path})
	}
	return out
}

// coordinator is the coordinator with the largest token; false without a
// coordinator.
func coordinator(list []peer) (peer, bool) {
	var best peer
	for _, p := range list {
		if p.Token > best.Token {
			best = p
		}
	}
	return best, best.Token > 0
}

// nextOf is the number of the next registered candidate after a node's; -1
// without such a candidate.
func nextOf(list []peer, node string) int64 {
	own, next := int64(-1), int64(-1)
	for _, p := range list {
		if p.Name == node {
			own = max(own, number(Status{Znode: p.Znode})) // a restarted node has a later number
		}
	}
	for _, p := range list {
		if n := number(Status{Znode: p.Znode}); n > own && own >= 0 && (next < 0 || n < next) {
			next = n
		}
	}
	return next
}

// longestName is how long a node's name may be, in bytes.
const longestName = 63

// validName reports whether name is a valid name of a node, in the form of host
// names.
func validName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_' {
			return false
		}
	}
	return name != "" && len(name) <= longestName && name[0] != '.'
}
