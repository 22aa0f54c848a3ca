package session

import "time"

// knowledge is what a client has seen of the ensemble, in all its sessions.
type knowledge struct {
	zxid  int64     // the newest transaction
	heard time.Time // when a server with a quorum was last heard, which knew no newer one
}

// with is k and what s has seen. A session that got no reply yet has seen nothing. A quorum
// that commits has a higher transaction than all before: if s knows of a lower one, the
// ensemble was recreated, or restored from a backup, and k is of the former one.
func (k knowledge) with(s *Session) knowledge {
	zxid, committed := s.link.LastZxid(), s.committed.Load()
	if committed != 0 && committed < k.zxid {
		k = knowledge{}
	}
	if zxid == 0 || s.outdated.Load() {
		return k
	}
	k.zxid = max(k.zxid, zxid)
	if heard := s.LastHeard(); !s.reads && heard.After(k.heard) {
		k.heard = heard
	}
	return k
}

// lastKnown is what the client has seen until now.
func (c *Client) lastKnown() knowledge {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		return c.known
	}
	return c.known.with(c.latest)
}

// forgetSeen forgets what s and former sessions have seen, which is of another ensemble.
func (c *Client) forgetSeen(s *Session) {
	s.outdated.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = knowledge{}
}
