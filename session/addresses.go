package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// lookupFunc returns the addresses of a host.
type lookupFunc = func(ctx context.Context, host string) ([]string, error)

// Bounds of the time that the addresses of all servers may take, of which some are known.
const (
	maxLookup      = 2 * time.Second
	maxKnownLookup = 500 * time.Millisecond
)

// addressBook has the addresses of a client's servers, of which each has one name.
type addressBook struct {
	lookup lookupFunc // nil: names are dialed

	// mu guards known: the addresses of each host at its last successful lookup.
	mu    sync.Mutex
	known map[string][]string
}

// newAddressBook makes a book that looks up the names in servers.
func newAddressBook(lookup lookupFunc) *addressBook {
	return &addressBook{lookup: lookup, known: map[string][]string{}}
}

// target is one address of a server.
type target struct {
	server  string // host:port, as in the list of servers
	address string // to dial
	alone   bool   // the server has no other address
	err     error  // instead of the address: why there is none
}

// host is the server without its port.
func (t target) host() string {
	host, _, err := net.SplitHostPort(t.server)
	if err != nil {
		return t.server
	}
	return host
}

// shown is the target as users see it: the server's name, if that tells where it is.
func (t target) shown() string {
	if t.alone {
		return t.server
	}
	return t.address
}

// targets are the addresses of servers: all of the first server, in random order, then those
// of the next. A server whose name cannot be resolved in time has the addresses that it had,
// or else an error.
func (b *addressBook) targets(ctx context.Context, servers []string, timeout time.Duration) (out []target) {
	found, failed := make([][]string, len(servers)), make([]error, len(servers))
	limit := b.limit(timeout)
	var looking sync.WaitGroup
	for i, server := range servers {
		// Waited for below; ends with the lookup, which has a limit.
		looking.Go(func() { found[i], failed[i] = b.addresses(ctx, server, limit) })
	}
	looking.Wait()
	for i, server := range servers {
		if len(found[i]) == 0 {
			out = append(out, target{server: server, address: server, alone: true, err: failed[i]})
		}
		for _, address := range found[i] {
			out = append(out, target{server: server, address: address, alone: len(found[i]) == 1})
		}
	}
	return out
}

// limit is how long a lookup may take. Once an address is known, it is short: a name server
// that is away, or a name that does not exist, must not cost a session with something held.
func (b *addressBook) limit(timeout time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) > 0 {
		return min(timeout/8, maxKnownLookup)
	}
	return min(timeout/3, maxLookup)
}

// addresses are the addresses of a server, in random order; none, without an error, if it is
// to be dialed as it is.
func (b *addressBook) addresses(ctx context.Context, server string, limit time.Duration) ([]string, error) {
	host, port, err := net.SplitHostPort(server)
	if b.lookup == nil || err != nil || net.ParseIP(host) != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	hosts, err := b.lookup(ctx, host)
	if err == nil && len(hosts) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	b.mu.Lock()
	if err == nil {
		b.known[host] = hosts
	} else if hosts = b.known[host]; len(hosts) > 0 {
		err = nil
	}
	b.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = net.JoinHostPort(h, port)
	}
	out = slices.Compact(slices.Sorted(slices.Values(out))) // some resolvers repeat themselves
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}
