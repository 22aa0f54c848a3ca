package ensemble

import (
	"bytes"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// readDelay is how long a server looks for a leader before it carries out reads, at least
// (org.apache.zookeeper.server.quorum.QuorumPeer.run).
const readDelay = 2 * time.Second

// readServer is a server without a quorum that carries out the reads of clients that ask for
// such a server, as org.apache.zookeeper.server.quorum.ReadOnlyZooKeeperServer. Its sessions
// are its own; those of the ensemble are refused.
type readServer struct {
	sessions map[int64]time.Duration // when they expire
}

// readSoon makes n a readServer, unless it finds a leader before.
func (n *Node) readSoon() {
	if n.looks++; !n.w.cfg.ReadOnly {
		return
	}
	looks := n.looks
	n.startTimer(max(readDelay, n.w.cfg.Tick), func() bool { return n.looks == looks && !n.down }, func() {
		n.reads = &readServer{sessions: map[int64]time.Duration{}}
		n.w.cfg.Logger.Debug("carrying out reads without a quorum", "server", n.index)
	})
}

// stopReads ends what readSoon began.
func (n *Node) stopReads() {
	n.looks++
	if n.reads != nil {
		n.reads = nil
		n.closeClients()
	}
}

// connectToReads carries out the handshake.
func (c *Conn) connectToReads(q *proto.Connect) {
	n := c.node
	now := n.w.clock.Now()
	known := n.reads.touchSession(q.Session, c.timeout, now)
	c.session = q.Session
	switch {
	case !q.ReadOnly, q.LastZxidSeen > n.tree.LastZxid():
		c.Close()
		return
	case q.Session == 0:
		c.session = n.nextSession
		n.nextSession++
		n.reads.sessions[c.session] = now + time.Duration(c.timeout)*time.Millisecond
		known = true
	case !bytes.Equal(q.Password, n.passwordOf(q.Session)):
		known = false
	case !known && n.tree.HasSession(q.Session):
		c.Close()
		return
	case known:
		for _, other := range n.Conns() {
			if other != c && other.session == q.Session {
				other.Close()
			}
		}
	}
	c.finishHandshake(known)
}

// touchSession postpones the expiry of a session, and tells whether there is such a session.
func (r *readServer) touchSession(session int64, timeout int32, now time.Duration) bool {
	if until, ok := r.sessions[session]; !ok || until <= now {
		return false
	}
	r.sessions[session] = now + time.Duration(timeout)*time.Millisecond
	return true
}

// refuseUnlessRead answers o, of a connection to a server without a quorum, unless o reads.
func (o *op) refuseUnlessRead() {
	code := proto.NotReadOnly
	switch {
	case o.req.Op == proto.OpCloseSession:
		code, o.closing = proto.OK, true
		delete(o.node.reads.sessions, o.session)
	case o.req.Op != proto.OpSync && !proto.IsWrite(o.req.Op):
		return
	}
	o.done, o.record = true, proto.EncodeReply(o.req.Xid, o.node.tree.LastZxid(), code, nil)
}
