package session

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// defaultPort is ZooKeeper's client port.
const defaultPort = "2181"

// parseServers reads a connect string: "host:port,host:port/chroot". A port is
// 2181 by default; IPv6 addresses with a port stand in brackets; the chroot is
// optional, and "" here if there is none.
func parseServers(list string) (servers []string, chroot string, err error) {
	hosts := list
	if i := strings.IndexByte(list, '/'); i >= 0 {
		hosts, chroot = list[:i], list[i:]
	}
	if chroot == "/" {
		chroot = ""
	}
	if chroot != "" {
		if err := ValidatePath(chroot); err != nil {
			return nil, "", fmt.Errorf("%w %q: its chroot: %w", ErrInvalidServers, list, err)
		}
	}
	if i := strings.LastIndexByte(chroot, ','); i >= 0 && strings.Contains(chroot[i:], ":") {
		return nil, "", fmt.Errorf("%w %q: one chroot serves all servers; write it once, behind the last one: host:port,host:port/chroot", ErrInvalidServers, list)
	}
	if strings.TrimSpace(hosts) == "" {
		return nil, "", fmt.Errorf("%w %q: it names no server; write host:port[,host:port...][/chroot]", ErrInvalidServers, list)
	}
	for part := range strings.SplitSeq(hosts, ",") {
		server, err := parseServer(strings.TrimSpace(part))
		if err != nil {
			return nil, "", fmt.Errorf("%w %q: %w", ErrInvalidServers, list, err)
		}
		servers = append(servers, server)
	}
	return servers, chroot, nil
}

func parseServer(s string) (string, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("it has an empty element")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", fmt.Errorf("%q has a space or a control character; separate servers with commas", s)
	case !bracketed(s):
		return "", fmt.Errorf("%q has brackets without an address; write [address] or [address]:port", s)
	case !strings.Contains(s, ":"):
		return net.JoinHostPort(s, defaultPort), nil
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		return net.JoinHostPort(s[1:len(s)-1], defaultPort), nil
	case strings.Count(s, ":") > 1 && net.ParseIP(s) != nil:
		return net.JoinHostPort(s, defaultPort), nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q has the port %q, which is not one from 1 to 65535", s, port)
	}
	if host == "" {
		return "", fmt.Errorf("%q has no host", s)
	}
	return net.JoinHostPort(host, port), nil
}

// bracketed tells whether brackets, if s has any, stand around all that is before
// its port, once, with something inside.
func bracketed(s string) bool {
	if !strings.ContainsAny(s, "[]") {
		return true
	}
	host, rest, closed := strings.Cut(strings.TrimPrefix(s, "["), "]")
	return closed && (rest == "" || rest[0] == ':') && host != "" && strings.HasPrefix(s, "[") && strings.Count(s, "[") == 1 && strings.Count(s, "]") == 1
}

// rotation hands out servers in turn. It is go-zookeeper's HostProvider.
//
// It answers "all tried" only once the session is over. go-zookeeper would then
// wait a second, during which a lease can run out, before it tries again, and
// look at that moment whether it was closed; while the session lives the
// dialer does the waiting.
type rotation struct {
	over func() bool

	// mu guards next and last.
	mu      sync.Mutex
	servers []string // in this session's order; not changed
	next    int
	last    string
}

// newRotation makes a session's own random order, so that clients spread over
// the servers.
func newRotation(servers []string, over func() bool) *rotation {
	r := &rotation{over: over, servers: append([]string(nil), servers...)}
	rand.Shuffle(len(r.servers), func(i, j int) { r.servers[i], r.servers[j] = r.servers[j], r.servers[i] })
	return r
}

// Init ignores go-zookeeper's list: the rotation has its own.
func (r *rotation) Init([]string) error { return nil }

// Len is the number of servers.
func (r *rotation) Len() int { return len(r.servers) }

// Next is the server to try next.
func (r *rotation) Next() (server string, allTried bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.servers[r.next%len(r.servers)]
	r.next++
	return r.last, r.over()
}

// Connected has nothing to note: the next dial, if any, goes to the next
// server, since the present one has just failed.
func (r *rotation) Connected() {}

func (r *rotation) server() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
