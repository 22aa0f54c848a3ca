package session

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// configPath is the znode with the servers' dynamic configuration
// (org.apache.zookeeper.ZooDefs.CONFIG_NODE), whatever the chroot.
const configPath = "/zookeeper/config"

// ensemble is the list of servers that a client uses.
type ensemble struct {
	given   []string // to Connect
	servers []string
	// followed: servers are those of the dynamic configuration of this version, which is 0
	// while the ensemble has not been reconfigured; not those given.
	followed bool
	version  uint64
}

// errNoMember is the reason why a configuration cannot be read that names no servers.
var errNoMember = errors.New("it names no server")

// parseEnsemble reads a dynamic configuration: lines
// "server.ID=HOST:PORT:PORT[:ROLE][|...];[HOST:]PORT[;...]", of which the part behind the first
// semicolon is for clients, and "version=HEX"
// (org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer).
func parseEnsemble(data []byte) (e ensemble, err error) {
	e.followed = true
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case key == "version":
			if e.version, err = strconv.ParseUint(value, 16, 64); err != nil {
				return e, fmt.Errorf("the version %q is not a hexadecimal number", value)
			}
		case strings.HasPrefix(key, "server."):
			server, err := parseMember(value)
			if err != nil {
				return e, fmt.Errorf("%s: %w", key, err)
			}
			e.servers = append(e.servers, server)
		}
	}
	if len(e.servers) == 0 {
		return e, errNoMember
	}
	slices.Sort(e.servers)
	e.servers = slices.Compact(e.servers)
	return e, nil
}

// parseMember returns the address for clients of one server. A server that listens on all
// addresses has that for its peers.
func parseMember(value string) (string, error) {
	peers, rest, _ := strings.Cut(value, ";")
	clients, _, _ := strings.Cut(rest, ";")
	if clients == "" {
		return "", fmt.Errorf("%q has no address for clients: write it behind a semicolon", value)
	}
	host, port := "", clients
	if strings.Contains(clients, ":") {
		var err error
		if host, port, err = net.SplitHostPort(clients); err != nil {
			return "", err
		}
	}
	if isEverywhere(host) {
		first, _, _ := strings.Cut(peers, "|") // a server may have several addresses
		if host = memberHost(first); isEverywhere(host) {
			return "", fmt.Errorf("%q has no host", value)
		}
	}
	server, err := parseServer(net.JoinHostPort(host, port))
	return canonical(server), err
}

func isEverywhere(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// memberHost is the host of "HOST:PORT:PORT[:ROLE]", an IPv6 address with or without brackets.
func memberHost(peer string) string {
	parts := strings.Split(peer, ":")
	if _, err := strconv.Atoi(parts[len(parts)-1]); err != nil {
		parts = parts[:len(parts)-1] // the role
	}
	if len(parts) < 3 {
		return ""
	}
	return strings.Trim(strings.Join(parts[:len(parts)-2], ":"), "[]")
}

// canonical is server as it is written everywhere.
func canonical(server string) string {
	host, port, err := net.SplitHostPort(strings.ToLower(server))
	if err != nil {
		return server
	}
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	return net.JoinHostPort(host, port)
}

// errServerRemoved and errServersAdded are why a session leaves its server.
var (
	errServerRemoved = errors.New("the server was removed from the ensemble")
	errServersAdded  = errors.New("servers were added to the ensemble, and some of the clients go there")
)

// move decides whether a client leaves its server, which is at in next, or "" if it is not in
// it, when former becomes next, where to it goes first, and why. chance is random, from 0 to 1.
// As in the Java client (org.apache.zookeeper.client.StaticHostProvider.updateServerList), all
// servers have the same number of clients afterwards.
func (former ensemble) move(next ensemble, at string, chance float64) (first []string, why error) {
	added := without(next.servers, former.servers)
	kept := without(next.servers, added)
	before, after, old := float64(len(former.servers)), float64(len(next.servers)), float64(len(kept))
	switch {
	case at != "" && chance < 1-before/after:
		return added, errServersAdded
	case at != "":
		return nil, nil
	case after <= before && chance < old*(before-after)/(after*(before-old)):
		return kept, errServerRemoved
	}
	return added, errServerRemoved
}

// Servers returns the servers that the client uses, "host:port": those given to [Connect], or
// those of the ensemble's dynamic configuration with Options.FollowEnsemble.
func (c *Client) Servers() []string {
	c.mustBeMade()
	return slices.Clone(c.currentEnsemble().servers)
}

func (c *Client) currentEnsemble() ensemble {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ensemble
}
