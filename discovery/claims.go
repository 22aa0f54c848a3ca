package discovery

import (
	"slices"
	"sync"
)

// claims are the znodes that the registrations of one [Registry], or the members
// of one [Group], have, and the sessions that they were made in.
//
// A registration whose creation got no answer recognizes its node by the session
// that owns it and by its data. Both may be another one's of the same process,
// and then the two would share a node, which goes when either does. So each takes
// its node here, and what is taken is no other one's. Two registries of one client
// know nothing of each other: see Concurrency in the package's doc.
type claims struct {
	// mu guards what follows. Invariant: taken has what registered places
	// have, each once; a place leaves it before its znode is deleted, or
	// after it has gone.
	mu       sync.Mutex
	taken    map[claim]*keeper
	sessions []int64 // the last ones
}

// maxSessions is how many sessions are remembered: far more than can be lost before
// the servers have deleted what the first one left, and less than those of years.
const maxSessions = 256

type claim struct {
	path  string
	czxid int64
}

func newClaims() *claims { return &claims{taken: map[claim]*keeper{}} }

// take reports whether the node is k's.
func (c *claims) take(k *keeper, path string, czxid int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := claim{path, czxid}
	if owner, ok := c.taken[key]; ok && owner != k {
		return false
	}
	c.taken[key] = k
	return true
}

// free gives the node up.
func (c *claims) free(p *place) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.taken, claim{p.path, p.czxid})
}

// use notes that there are registrations in this session.
func (c *claims) use(session int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.sessions, session) {
		return
	}
	c.sessions = append(c.sessions, session)
	if len(c.sessions) > maxSessions {
		c.sessions = slices.Delete(c.sessions, 0, 1)
	}
}

// used reports whether there were.
func (c *claims) used(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.sessions, session)
}
