package session

import (
	"fmt"
	"net"
	"strconv"
	"strings"
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
