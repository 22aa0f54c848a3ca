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

// Link names connections between clients and servers: all those that fit
// every field that is set. The zero Link names all.
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
	return (r.dir == Both || r.dir == d) && r.link.fits(c.session(), c.server, c.client)
}

// holeLocked tells whether nothing gets through in that direction.
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

// dialHoleLocked tells whether a new connection cannot come about. The session
// is not known yet, so rules that name one do not count.
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

// BlackHole loses everything on the link in that direction until Heal, without
// a sign: no reset, no end of file. Like TCP, which goes on sending, it delivers
// after Heal what was sent meanwhile, if the connection still exists then. New
// connections hang, in memory; over TCP they are accepted and stay silent. A
// Link that names a session also covers the connections with which the client
// tries to get it back.
func (s *Server) BlackHole(l Link, d Direction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rule{link: l, dir: d})
}

// Delay puts off everything on the link in that direction, in order, from now
// on and until Heal. Zero changes nothing.
func (s *Server) Delay(l Link, d Direction, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by > 0 {
		s.rules = append(s.rules, rule{link: l, dir: d, delay: by})
	}
}

// Heal ends every BlackHole and Delay. Connections that Action{Do: DropRequest} and its
// like have broken stay broken.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
	s.resumeLocked()
}

// HealLink ends BlackHole and Delay of exactly this Link.
func (s *Server) HealLink(l Link) {
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

// resumeLocked lets the bytes through that no rule holds back any more. It only asks
// the loop to do so, since hooks may be called on the way.
func (s *Server) resumeLocked() {
	s.changedLocked()
	for _, c := range s.sortedLocked() {
		c.resumeLocked()
	}
}

// sortedLocked returns the connections in the order in which they came.
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
