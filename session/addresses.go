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

// Bounds of the time that an attempt to connect waits for the addresses of all servers, of
// which some are known.
const (
	maxLookup      = 2 * time.Second
	maxKnownLookup = 500 * time.Millisecond
)

// longestLookup bounds a lookup. An answer that comes later than an attempt to connect waits
// for it is used by the next attempt.
const longestLookup = 20 * time.Second

// addressBook has the addresses of a client's servers, of which each has one name.
type addressBook struct {
	lookup  lookupFunc      // nil: names are dialed
	life    context.Context // of the lookups
	running sync.WaitGroup  // the lookups

	// mu guards the fields below: the addresses of each host at its last successful lookup,
	// and the lookup that is in flight.
	mu       sync.Mutex
	known    map[string][]string
	inFlight map[string]*hostLookup
}

// hostLookup is a lookup of one host.
type hostLookup struct {
	began time.Time
	done  chan struct{}
	hosts []string // written once, with err, before done is closed
	err   error
}

// newAddressBook makes a book that looks up the names in servers, while life lasts.
func newAddressBook(life context.Context, lookup lookupFunc) *addressBook {
	return &addressBook{lookup: lookup, life: life, known: map[string][]string{}, inFlight: map[string]*hostLookup{}}
}

// wait waits for the lookups, after the end of life and the last call of targets.
func (b *addressBook) wait() { b.running.Wait() }

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

// limit is how long an attempt to connect waits for a lookup. Once an address is known, it is short: a name server
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
	host, port, named := splitName(server)
	if b.lookup == nil || !named {
		return nil, nil
	}
	hosts, err := b.await(ctx, host, limit)
	if err != nil {
		b.mu.Lock()
		hosts = b.known[host]
		b.mu.Unlock()
		if len(hosts) == 0 {
			return nil, fmt.Errorf("resolve %s: %w", host, err)
		}
	}
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = net.JoinHostPort(h, port)
	}
	out = slices.Compact(slices.Sorted(slices.Values(out))) // some resolvers repeat themselves
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// splitName splits a server into its name and its port; named is false if it has no name to look
// up.
func splitName(server string) (host, port string, named bool) {
	host, port, err := net.SplitHostPort(server)
	return host, port, err == nil && net.ParseIP(host) == nil
}

// await waits for the addresses of host. A lookup that has been in flight for longer than
// limit is waited for only while the client knows no address at all.
func (b *addressBook) await(ctx context.Context, host string, limit time.Duration) ([]string, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l, hurry := b.look(host)
	if hurry {
		limit -= time.Since(l.began)
	}
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	select {
	case <-l.done:
		return l.hosts, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	return nil, fmt.Errorf("no answer for %v: %w", time.Since(l.began).Round(time.Millisecond), context.DeadlineExceeded)
}

// look returns the lookup of host that is in flight, or begins one, and reports whether some
// address is known.
func (b *addressBook) look(host string) (l *hostLookup, hurry bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, hurry = b.inFlight[host], len(b.known) > 0
	if l != nil {
		return l, hurry
	}
	l = &hostLookup{began: time.Now(), done: make(chan struct{})}
	b.inFlight[host] = l
	// Waited for by wait; ends with life, or after longestLookup.
	b.running.Go(func() { b.run(host, l) })
	return l, hurry
}

// run is the lookup l of host.
func (b *addressBook) run(host string, l *hostLookup) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(b.life, longestLookup)
	defer cancel()
	hosts, err := b.lookup(ctx, host)
	if err == nil && len(hosts) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	l.hosts, l.err = hosts, err
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inFlight, host)
	if err == nil {
		b.known[host] = hosts
	}
}
