package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// configPath is the znode with the servers' dynamic configuration
// (org.apache.zookeeper.ZooDefs.CONFIG_NODE), whatever the chroot.
const configPath = "/zookeeper/config"

// ensemble is the list of servers that a client uses.
type ensemble struct {
	given   []string // to Connect
	servers []string
	version uint64 // of the dynamic configuration; 0 while servers are those given
}

// errNoMember is the reason why a configuration cannot be read that names no servers.
var errNoMember = errors.New("it names no server")

// parseEnsemble reads a dynamic configuration: lines "server.ID=HOST:PORT:PORT[:ROLE];[HOST:]PORT",
// of which the part behind the semicolon is for clients, and "version=HEX"
// (org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer).
func parseEnsemble(data []byte) (e ensemble, err error) {
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case key == "version":
			if e.version, err = strconv.ParseUint(value, 16, 64); err != nil {
				return e, fmt.Errorf("the version %q is no hexadecimal number", value)
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
	return e, nil
}

// parseMember returns the address for clients of one server. A server that listens on all
// addresses has that for its peers.
func parseMember(value string) (string, error) {
	peers, clients, found := strings.Cut(value, ";")
	if !found || clients == "" {
		return "", fmt.Errorf("%q has no address for clients: write it behind a semicolon", value)
	}
	host, port := "", clients
	if strings.Contains(clients, ":") {
		var err error
		if host, port, err = net.SplitHostPort(clients); err != nil {
			return "", err
		}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		first, _, _ := strings.Cut(peers, "|") // a server may have several addresses
		if host = memberHost(first); host == "" {
			return "", fmt.Errorf("%q has no host", value)
		}
	}
	return parseServer(net.JoinHostPort(host, port))
}

// memberHost is the host of "HOST:PORT:PORT[:ROLE]".
func memberHost(peer string) string {
	if rest, ok := strings.CutPrefix(peer, "["); ok {
		host, _, _ := strings.Cut(rest, "]")
		return host
	}
	host, _, _ := strings.Cut(peer, ":")
	return host
}

// followEnsemble uses the servers of the dynamic configuration while the session lives.
func (s *Session) followEnsemble() {
	for {
		seen, err := doRequest(s.ctx, s, "follow", configPath, func() *Future[Seen] {
			return s.startReadAt("get", configPath, configPath, wire.OpGetData, true, false, decodeGet)
		}, Seen.stop)
		if err != nil {
			if s.ctx.Err() == nil {
				s.log.Warn("zookeeper servers are not followed", "path", configPath, "cause", err)
			}
			return
		}
		switch next, err := parseEnsemble(seen.Data); {
		case err == nil:
			s.useEnsemble(next)
		case !errors.Is(err, errNoMember): // that of a standalone server names none
			s.log.Warn("zookeeper servers are not followed", "path", configPath, "cause", err)
		}
		if _, err := seen.Watch.Wait(s.ctx); err != nil {
			return
		}
	}
}

// errServerRemoved and errServersAdded are why a session leaves its server.
var (
	errServerRemoved = errors.New("the server was removed from the ensemble")
	errServersAdded  = errors.New("servers were added to the ensemble, and some of the clients go there")
)

// useEnsemble makes the client use the servers of next, unless it knows a newer list.
func (s *Session) useEnsemble(next ensemble) {
	c := s.client
	c.mu.Lock()
	former := c.ensemble
	if next.version <= former.version {
		c.mu.Unlock()
		return
	}
	next.given = former.given
	c.ensemble = next
	c.mu.Unlock()
	s.log.Info("zookeeper servers", "servers", strings.Join(next.servers, ","), "version", fmt.Sprintf("%x", next.version))
	first, why := former.move(next, s.servers.target().server, rand.Float64())
	s.servers.replace(next, first)
	if why != nil {
		s.link.Drop(why)
	}
}

// move decides whether a client of the server at leaves it when former becomes next, where to
// it goes first, and why. chance is random, from 0 to 1. As in the Java client
// (org.apache.zookeeper.client.StaticHostProvider.updateServerList), the part of the clients
// that goes to added servers is the one after which all servers have the same number.
func (former ensemble) move(next ensemble, at string, chance float64) (first []string, why error) {
	switch {
	case former.version == 0, !slices.Contains(former.servers, at):
		// The list given to Connect may have other names for the same servers.
		return nil, nil
	case !slices.Contains(next.servers, at):
		return nil, errServerRemoved
	case chance < 1-float64(len(former.servers))/float64(len(next.servers)):
		return without(next.servers, former.servers), errServersAdded
	}
	return nil, nil
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
