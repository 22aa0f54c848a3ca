package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// reachability is what a client has found out about the servers of configurations that it
// follows, whose addresses may be internal to the ensemble.
type reachability struct {
	// mu guards the fields below: the servers that have answered, and those that could not be
	// reached, both at the last attempt; and those of the latter that users were told of.
	mu       sync.Mutex
	answered map[string]bool
	failed   map[string]bool
	told     map[string]bool
}

func newReachability() *reachability {
	return &reachability{answered: map[string]bool{}, failed: map[string]bool{}, told: map[string]bool{}}
}

// setAnswered notes that server has answered.
func (r *reachability) setAnswered(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered[server] = true
	delete(r.failed, server)
	delete(r.told, server)
}

// setFailed notes that server could not be reached.
func (r *reachability) setFailed(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[server] = true
	delete(r.answered, server)
}

// isKnown reports whether the last attempt to reach server has succeeded, or failed.
func (r *reachability) isKnown(server string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered[server] || r.failed[server]
}

// untold returns those of servers that users were not told of, and notes that they are.
func (r *reachability) untold(servers []string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, server := range servers {
		if !r.told[server] {
			r.told[server] = true
			out = append(out, server)
		}
	}
	return out
}

// order is the order of a round: the members that are believed to be reachable, then others,
// with the servers given to Connect in between, and those that have not been reached at last,
// so that a client without a connection soon has one again. While no member has answered, the
// former members that have are used, too.
func (r *reachability) order(members, given []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	spare := without(given, members)
	if !slices.ContainsFunc(members, func(m string) bool { return r.answered[m] }) {
		spare = append(spare, without(slices.Sorted(maps.Keys(r.answered)), slices.Concat(members, given))...)
	}
	slices.SortStableFunc(spare, func(a, b string) int {
		switch {
		case r.failed[a] == r.failed[b]:
			return 0
		case r.failed[b]:
			return -1
		}
		return 1
	})
	var good, unknown, bad []string
	for _, m := range members {
		switch {
		case r.failed[m]:
			bad = append(bad, m)
		case r.answered[m] || slices.Contains(given, m):
			good = append(good, m)
		default:
			unknown = append(unknown, m)
		}
	}
	n := min(len(unknown), len(spare))
	return slices.Concat(good, alternate(unknown, spare[:n]), alternate(spare[n:], bad))
}

// alternate has the elements of both lists in turn.
func alternate(a, b []string) (out []string) {
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}

// maxTry bounds the time of an attempt to reach servers beside a connection.
const maxTry = 3 * time.Second

// tryServers opens a connection to each address of servers, beside that of the session, closes
// it again, and returns the addresses that accepted it. Users are told of the others once.
func (s *Session) tryServers(servers []string) (reached []target) {
	if len(servers) == 0 {
		return nil
	}
	targets := s.resolve(servers)
	failures := make([]error, len(targets))
	ctx, cancel := context.WithTimeout(s.ctx, min(s.link.Timeout()/3, maxTry))
	defer cancel()
	var trying sync.WaitGroup
	for i, t := range targets {
		// Waited for below; ends with ctx.
		trying.Go(func() {
			conn, err := s.dialTarget(ctx, "tcp", t)
			if failures[i] = err; err == nil {
				_ = conn.Close()
			}
		})
	}
	trying.Wait()
	if s.ctx.Err() != nil {
		return nil
	}
	for i, t := range targets {
		if failures[i] == nil {
			reached = append(reached, t)
		}
	}
	s.noteTried(servers, targets, failures)
	return reached
}

// noteTried notes which of servers have answered at one of their addresses. A server without an
// address was not tried.
func (s *Session) noteTried(servers []string, targets []target, failures []error) {
	answered, causes := map[string]bool{}, map[string]error{}
	for i, t := range targets {
		switch {
		case failures[i] == nil:
			answered[t.server] = true
		case t.err == nil:
			causes[t.server] = failures[i]
		}
	}
	var unreachable []string
	for _, server := range servers {
		if answered[server] {
			s.client.reach.setAnswered(server)
		} else if causes[server] != nil {
			s.client.reach.setFailed(server)
			unreachable = append(unreachable, server)
		}
	}
	if news := s.client.reach.untold(unreachable); len(news) > 0 {
		s.log.Warn("zookeeper servers of the configuration cannot be reached", "servers", strings.Join(news, ","),
			"path", configPath, "cause", fmt.Errorf("%s: %w", news[0], causes[news[0]]))
	}
}

// tryNewMembers tries the servers of e of which the client knows nothing, so that users learn
// in time of addresses that are internal to the ensemble. Servers of the list given to Connect,
// by name or address, need no trial.
func (s *Session) tryNewMembers(e ensemble) {
	given := map[string]bool{}
	unknown := func(server string) bool { return !s.client.reach.isKnown(server) && !given[server] }
	for _, server := range s.servers.ensemble().given {
		given[canonical(server)] = true
	}
	if !slices.ContainsFunc(e.servers, unknown) {
		return
	}
	for _, t := range s.resolve(s.servers.ensemble().given) {
		given[canonical(t.address)] = true
	}
	var trials []string
	for _, t := range s.resolve(e.servers) {
		if unknown(t.server) && !given[canonical(t.address)] && !slices.Contains(trials, t.server) {
			trials = append(trials, t.server)
		}
	}
	s.tryServers(trials)
}
