package ensemble

import (
	"bytes"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/digestmd5"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// Sink is where a connection's output goes. No method blocks.
type Sink interface {
	// Send sends records, in order and together.
	Send(records ...[]byte)
	Close()
	// Full tells whether no more requests are to be answered until Drain.
	Full() bool
	// Answered is called when Held has become less.
	Answered()
}

// Conn is a client's connection as the server sees it.
type Conn struct {
	id      int64
	node    *Node
	sink    Sink
	old     bool
	session int64
	timeout int32
	ready   bool // the session is established
	closed  bool
	ids     []proto.ID
	sasl    *digestmd5.Server // nil before its first token
	// queue holds the requests not yet answered, in order; a write at the head
	// delays all later requests.
	queue []*op
	early []func()      // requests received before the session was established
	held  int           // bytes of the requests in queue and early
	used  time.Duration // when the client last sent, or was sent, something
	stats ConnStats
}

// ConnStats are the figures of one connection.
type ConnStats struct {
	Received, Sent int64
	LastOp         proto.Op
	LastXid        int32
	LastZxid       int64
	Established    time.Time
	LastResponse   time.Time
}

// SessionlessTimeout bounds the time from accepting a connection to its session
// request; zookeeper.nio.sessionlessCnxnTimeout by default.
const SessionlessTimeout = 10 * time.Second

// Accept takes a new connection; ip is the client's address. Accept returns nil
// if the process is down.
func (n *Node) Accept(sink Sink, ip string) *Conn {
	if n.down {
		return nil
	}
	n.w.nextConn++
	c := &Conn{id: n.w.nextConn, node: n, sink: sink, ids: []proto.ID{{Scheme: "ip", ID: ip}}}
	c.stats.Established, c.used = n.w.clock.Wall(), n.w.clock.Now()
	n.conns[c.id] = c
	n.startTimer(SessionlessTimeout, func() bool { return c.timeout == 0 && !c.closed }, c.Close)
	return c
}

// ID returns the unique number of the connection.
func (c *Conn) ID() int64 { return c.id }

// Node returns the server at which the connection ends.
func (c *Conn) Node() *Node { return c.node }

// Session returns the session, 0 before the handshake.
func (c *Conn) Session() int64 { return c.session }

// Timeout returns the session timeout in milliseconds.
func (c *Conn) Timeout() int32 { return c.timeout }

// Ready tells whether the session is established.
func (c *Conn) Ready() bool { return c.ready }

// Stats returns the figures of the connection.
func (c *Conn) Stats() ConnStats { return c.stats }

// Outstanding returns the number of requests not yet answered.
func (c *Conn) Outstanding() int { return len(c.queue) }

// Held returns the size in bytes of the unanswered requests.
func (c *Conn) Held() int { return c.held }

// Close closes the connection from the server's side.
func (c *Conn) Close() {
	if c.closed {
		return
	}
	c.closed = true
	c.queue, c.early, c.held = nil, nil, 0
	c.node.watches.Forget(c.id)
	delete(c.node.conns, c.id)
	c.sink.Close()
}

func (c *Conn) sendRecords(records ...[]byte) {
	if !c.closed && len(records) > 0 {
		c.stats.Sent += int64(len(records))
		c.stats.LastResponse, c.used = c.node.w.clock.Wall(), c.node.w.clock.Now()
		c.sink.Send(records...)
	}
}

// Connect carries out the handshake.
func (c *Conn) Connect(q proto.Connect) {
	n, product := c.node, c.node.w.cfg.Product
	if c.closed {
		return
	}
	lo, hi := n.w.cfg.MinTimeout.Milliseconds(), n.w.cfg.MaxTimeout.Milliseconds()
	c.old, c.timeout = q.Old, int32(min(max(int64(q.Timeout), lo), hi))
	c.stats.Received++
	c.noteUse()
	if n.reads != nil {
		c.connectToReads(&q)
		return
	}
	// A client with a newer zxid than this server's must go to another server.
	if !n.Serving() || q.LastZxidSeen > n.tree.LastZxid() && product != ClickHouseKeeper {
		c.session = q.Session
		c.refuseHandshake(false)
		return
	}
	// Before the session is established nothing is sent, and the limit is exact.
	n.startTimer(time.Duration(c.timeout)*time.Millisecond, func() bool { return !c.ready && !c.closed }, c.Close)
	if q.Session == 0 || product == ClickHouseKeeper { // which ignores the session asked for
		c.session = n.nextSession
		n.nextSession++
		o := &op{node: n, conn: c, session: c.session, req: proto.Request{Op: proto.OpCreateSession, Flags: c.timeout}}
		o.finish = func(*tree.Txn, []tree.Result) { c.finishHandshake(true) }
		c.forwardToLeader(o)
		return
	}
	for _, other := range n.Conns() {
		if other != c && other.session == q.Session {
			other.Close()
		}
	}
	c.session = q.Session
	if product == Apache && !bytes.Equal(q.Password, n.passwordOf(q.Session)) {
		c.finishHandshake(false)
		return
	}
	n.withLeader(func(l *leadership) {
		ok := l.touchSession(c.session, c.timeout)
		if ok {
			l.sessions[c.session].owner = n
		}
		l.runAt(n, func() { c.finishHandshake(ok) })
	})
}

func (c *Conn) finishHandshake(ok bool) {
	if c.closed {
		return
	}
	if !ok {
		c.refuseHandshake(true)
		return
	}
	c.ready = true
	c.touchSession()
	c.closeWhenIdle()
	c.acceptHandshake()
	todo := c.early
	c.early = nil
	for _, f := range todo {
		f()
	}
}

func (c *Conn) noteUse() { c.used = c.node.w.clock.Now() }

// closeWhenIdle closes the connection when the client was not heard from, and nothing was
// sent to it, for the session timeout, at the next multiple of SessionlessTimeout, as
// Apache's NIOServerCnxnFactory does. This ends the connection that a session has left, at
// a server that never heard of its end; otherwise the session expires first.
func (c *Conn) closeWhenIdle() {
	now := c.node.w.clock.Now()
	until := (c.used + time.Duration(c.timeout)*time.Millisecond).Truncate(SessionlessTimeout) + SessionlessTimeout
	if now >= until {
		c.Close()
		return
	}
	c.node.startTimer(until-now, func() bool { return !c.closed }, c.closeWhenIdle)
}

// touchSession records a sign of life; false means a session being closed.
func (c *Conn) touchSession() bool {
	if l := c.node.lead; l != nil {
		return l.touchSession(c.session, c.timeout)
	}
	if r := c.node.reads; r != nil {
		return r.touchSession(c.session, c.timeout, c.node.w.clock.Now())
	}
	c.node.touches[c.session] = c.timeout
	return true
}

// withLeader runs f at the leader, after everything already sent there by this
// server. Without a leader, withLeader does nothing.
func (n *Node) withLeader(f func(*leadership)) {
	if n.lead != nil {
		f(n.lead)
	} else if n.peer != nil {
		p := n.peer
		p.toLeader(func() { f(p.l) })
	}
}

// runAt runs f back at server n.
func (l *leadership) runAt(n *Node, f func()) {
	if n == l.n {
		f()
	} else if p := l.peers[n.index]; p != nil {
		p.toFollower(f)
	}
}
