package session

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// knowledge is what a client has seen of the ensemble, in all its sessions.
type knowledge struct {
	zxid  int64     // the newest transaction
	heard time.Time // when a server with a quorum was last heard, which knew no newer one
}

// with is k and what s has seen. A session that got no reply yet has seen nothing.
func (k knowledge) with(s *Session) knowledge {
	if s == nil || s.outdated.Load() {
		return k
	}
	zxid := s.link.LastZxid()
	if zxid == 0 {
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
	return c.lastKnownLocked()
}

func (c *Client) lastKnownLocked() knowledge {
	return c.known.with(c.latest).with(c.reading)
}

// forgetSeen forgets what s and former sessions have seen, which is of another ensemble.
func (c *Client) forgetSeen(s *Session) {
	s.outdated.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetNewerLocked(0)
}

// forgetNewerLocked forgets what the client has seen beyond newest, the newest transaction of
// a quorum: it is of another ensemble, or was never committed.
func (c *Client) forgetNewerLocked(newest int64) {
	if c.known.zxid > newest {
		c.known = knowledge{zxid: newest}
	}
	for _, s := range []*Session{c.latest, c.reading} {
		if s != nil && s.link.LastZxid() > newest {
			s.outdated.Store(true)
		}
	}
}

// noteCommitted notes that s has seen a commit of a quorum, whose transactions have numbers up
// to newest. They are higher than those of all commits before: if the client has seen a higher
// one in another session, the ensemble was recreated or restored from a backup, or a server
// without a quorum has shown a change that was never committed.
func (c *Client) noteCommitted(s *Session, newest int64) {
	if !c.opts.ReadOnly {
		return
	}
	c.mu.Lock()
	known := c.known.with(c.reading)
	if c.latest != s {
		known = known.with(c.latest)
	}
	lost := known.zxid > newest && s.ctx.Err() == nil // a session that has ended is late with its news
	if lost {
		c.forgetNewerLocked(newest)
	}
	c.mu.Unlock()
	if lost {
		s.log.Warn("zookeeper has lost changes that the client has seen", "newest", fmt.Sprintf("%x", newest), "seen", fmt.Sprintf("%x", known.zxid))
	}
}

// newestSeen is the newest transaction that a server without a quorum must know: with an older
// state, it would show the client the past.
func (s *Session) newestSeen() int64 {
	if !s.reads {
		return 0
	}
	newest := s.client.lastKnown().zxid
	s.demanded.Store(newest)
	return newest
}

// catchUp is the first request on a connection to a server that need not know everything that
// the client has seen in other sessions, nil if it does: a transaction that changes nothing.
// Requests behind it are answered by a server that knows everything that a quorum has
// committed until then. The session is not refused meanwhile, as by newestSeen: it keeps what
// it holds.
func (s *Session) catchUp() (*wire.Call, func(*wire.Encoder)) {
	if s.reads || s.isOnTrial() || s.client.endReading(s) {
		return nil, nil
	}
	done := func(a wire.Answer) {
		if a.Err == nil {
			s.client.noteCommitted(s, a.Zxid)
		}
	}
	return &wire.Call{Op: wire.OpMulti, Commits: true, Done: done}, func(e *wire.Encoder) {
		wire.EncodePart(e, wire.OpCheck, false)
		e.String("/") // there is one, whatever the chroot
		e.Int32(-1)
		wire.EncodePart(e, -1, true)
	}
}
