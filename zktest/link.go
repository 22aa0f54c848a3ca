package zktest

import (
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"
)

// Direction of a fault.
type Direction int

// Directions; between two servers i and j, ToServer is from i to j.
const (
	Both Direction = iota
	ToServer
	ToClient
)

// Link names connections between clients and servers: those that match every
// field set. The zero Link names all connections.
type Link struct {
	// Session is a session id, whichever server its client is connected to.
	Session int64
	// Server is the number of a server, from 1.
	Server int
	// Client is a name given to Server.Client.
	Client string
}

func (l Link) fits(session int64, server int, client string) bool {
	return (l.Session == 0 || l.Session == session) && (l.Server == 0 || l.Server == server) &&
		(l.Client == "" || l.Client == client)
}

// rule is a lasting fault: a delay, or a black hole if delay is zero.
type rule struct {
	link  Link
	dir   Direction
	delay time.Duration
}

func (r *rule) covers(c *conn, d Direction) bool {
	return (r.dir == Both || r.dir == d) && r.link.fits(c.sessionID(), c.server, c.client)
}

// holeLocked tells whether direction d of c is blocked.
func (s *Server) holeLocked(c *conn, d Direction) bool {
	if c.dead {
		return true
	}
	for i := range s.rules {
		if r := &s.rules[i]; r.delay == 0 && r.covers(c, d) {
			return true
		}
	}
	return false
}

// dialHoleLocked tells whether a new connection is blocked. The session is not
// known yet, so rules for a session do not count.
func (s *Server) dialHoleLocked(server int, client string) bool {
	for i := range s.rules {
		if r := &s.rules[i]; r.delay == 0 && r.link.Session == 0 && r.link.fits(0, server, client) {
			return true
		}
	}
	return false
}

func (s *Server) delayLocked(c *conn, d Direction) time.Duration {
	var sum time.Duration
	for i := range s.rules {
		if r := &s.rules[i]; r.covers(c, d) {
			sum += r.delay
		}
	}
	return sum
}

// BlackHole holds back everything on the link in direction d until Heal,
// silently: no reset, no end of file. As TCP retransmits, everything sent
// meanwhile is delivered after Heal if the connection still exists. In memory,
// new connections hang; over TCP they are accepted and stay silent. A Link with
// a session also covers the connections by which the client tries to resume the
// session.
func (s *Server) BlackHole(l Link, d Direction) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rule{link: l, dir: d})
}

// Delay delays everything on the link in direction d, in order, until Heal.
// Zero changes nothing.
func (s *Server) Delay(l Link, d Direction, by time.Duration) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if by > 0 {
		s.rules = append(s.rules, rule{link: l, dir: d, delay: by})
	}
}

// Heal ends every BlackHole and Delay. Connections broken by an Action such as
// DropRequest stay broken.
func (s *Server) Heal() {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
	s.resumeLocked()
}

// HealLink ends BlackHole and Delay of exactly this Link.
func (s *Server) HealLink(l Link) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.rules[:0]
	for _, r := range s.rules {
		if r.link != l {
			kept = append(kept, r)
		}
	}
	s.rules = kept
	s.resumeLocked()
}

// resumeLocked releases the bytes that rules no longer hold back. The loop does
// the work, because hooks may be called.
func (s *Server) resumeLocked() {
	s.changedLocked()
	for _, c := range s.sortedLocked() {
		c.resumeLocked()
	}
}

// sortedLocked returns the connections in the order of their arrival.
func (s *Server) sortedLocked() []*conn {
	byID := map[int64]*conn{}
	ids := map[int64]int32{}
	for c := range s.conns {
		byID[c.core.ID()], ids[c.core.ID()] = c, 0
	}
	out := make([]*conn, 0, len(ids))
	for _, id := range ensemble.SortedKeys(ids) {
		out = append(out, byID[id])
	}
	return out
}
