package keeping

import (
	"slices"
	"sync"
)

// Ownership are the znodes that the registrants of one owner (a registry, a group) have,
// and the sessions that they were made in.
//
// A registration whose creation got no answer recognizes its node by the session that
// owns it and by its data. Another registration of the same process may have the same
// session and the same data, and then the two would share a node, which is deleted when
// either leaves. So each registration takes its node here, and a node that is taken
// belongs to no other registration. Two ownerships of one client know nothing of each
// other.
type Ownership struct {
	// mu guards the fields below. Invariant: owners has the znode of each registered
	// place, once; a place leaves owners after its znode has gone. newest has the
	// registration that was the last to get a znode of the path, until that znode has gone.
	mu       sync.Mutex
	owners   map[ownedNode]*Registrant
	newest   map[string]*Registrant
	sessions []int64 // the last ones
}

// maxSessions is how many sessions are remembered: far more than can be lost before the
// servers have deleted the znodes of the first one, and fewer than a process has in
// years.
const maxSessions = 256

type ownedNode struct {
	path  string
	czxid int64
}

// NewOwnership makes an ownership of nothing.
func NewOwnership() *Ownership {
	return &Ownership{owners: map[ownedNode]*Registrant{}, newest: map[string]*Registrant{}}
}

// Len is the number of znodes that are owned.
func (c *Ownership) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.owners)
}

// own reports whether the node is k's.
func (c *Ownership) own(k *Registrant, path string, czxid int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := ownedNode{path, czxid}
	if owner, ok := c.owners[key]; ok && owner != k {
		return false
	}
	c.owners[key], c.newest[path] = k, k
	return true
}

// leavingAt is the registration that has not heard of the end of its znode at path, which
// it is taking away; nil if none. A write of it may be in flight, on condition of a version
// that a new znode of the path could have, too.
func (c *Ownership) leavingAt(path string) *Registrant {
	c.mu.Lock()
	owner := c.newest[path]
	c.mu.Unlock()
	if owner == nil || !owner.hasLeft() {
		return nil
	}
	select {
	case <-owner.over: // at most a znode of a lost session is left
		return nil
	default:
		return owner
	}
}

// ownerOf is the registration that has this node; nil if none.
func (c *Ownership) ownerOf(path string, czxid int64) *Registrant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owners[ownedNode{path, czxid}]
}

// release gives the node up.
func (c *Ownership) release(p *place) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := ownedNode{p.path, p.czxid}
	if c.newest[p.path] == c.owners[key] {
		delete(c.newest, p.path)
	}
	delete(c.owners, key)
}

// addSession notes that there are registrations in this session.
func (c *Ownership) addSession(session int64) {
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

// hadSession reports whether there were registrations in the session.
func (c *Ownership) hadSession(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.sessions, session)
}
