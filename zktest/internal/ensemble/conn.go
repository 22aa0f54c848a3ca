package ensemble

import (
	"bytes"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// Sink is where a connection's output goes. Neither method blocks.
type Sink interface {
	Send(record []byte)
	Close()
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
	// queue holds the requests not yet answered, in order; a write at its head
	// holds up everything behind it.
	queue []*op
	early []func() // requests that came before the session was established
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

// op is a request on its way.
type op struct {
	node    *Node // where it came in
	conn    *Conn // nil for an administrator's change
	req     proto.Request
	session int64
	ids     []proto.ID
	reply   func(record []byte)
	done    bool
	record  []byte // the answer, when done
	closing bool   // close the connection after the answer
	// finish replaces the answer to a client.
	finish func(*tree.Txn, []tree.Result)
}

// Accept takes a new connection; ip is the client's address. It returns nil if
// the process is down.
func (n *Node) Accept(sink Sink, ip string) *Conn {
	if n.down {
		return nil
	}
	n.w.nextConn++
	c := &Conn{id: n.w.nextConn, node: n, sink: sink, ids: []proto.ID{{Scheme: "ip", ID: ip}}}
	c.stats.Established = n.w.clock.Wall()
	n.conns[c.id] = c
	return c
}

// ID returns a number that no other connection has.
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

// Close closes the connection from the server's side.
func (c *Conn) Close() {
	if c.closed {
		return
	}
	c.closed = true
	c.queue, c.early = nil, nil
	c.node.watches.Forget(c.id)
	delete(c.node.conns, c.id)
	c.sink.Close()
}

func (c *Conn) send(record []byte) {
	if !c.closed {
		c.stats.Sent++
		c.stats.LastResponse = c.node.w.clock.Wall()
		c.sink.Send(record)
	}
}

// Connect carries out the handshake.
func (c *Conn) Connect(q proto.Connect) {
	n := c.node
	// A client that has seen more than this server must go to another one.
	if c.closed || !n.Serving() || q.LastZxidSeen > n.tree.LastZxid() {
		c.Close()
		return
	}
	lo, hi := n.w.cfg.MinTimeout.Milliseconds(), n.w.cfg.MaxTimeout.Milliseconds()
	c.old, c.timeout = q.Old, int32(min(max(int64(q.Timeout), lo), hi))
	c.stats.Received++
	if q.Session == 0 {
		c.session = n.nextSession
		n.nextSession++
		o := &op{node: n, conn: c, session: c.session, req: proto.Request{Op: proto.OpCreateSession, Flags: c.timeout}}
		o.finish = func(*tree.Txn, []tree.Result) { c.established(true) }
		c.forward(o)
		return
	}
	for _, other := range n.Conns() {
		if other != c && other.session == q.Session {
			other.Close()
		}
	}
	c.session = q.Session
	if !bytes.Equal(q.Password, n.password(q.Session)) {
		c.established(false)
		return
	}
	n.withLeader(func(l *leadership) {
		ok := l.touch(c.session, c.timeout)
		if ok {
			l.sessions[c.session].owner = n
		}
		l.answer(n, func() { c.established(ok) })
	})
}

func (c *Conn) established(ok bool) {
	if c.closed {
		return
	}
	if !ok {
		c.send(proto.EncodeConnectReply(c.old, 0, 0, make([]byte, 16)))
		c.Close()
		return
	}
	c.ready = true
	c.touch()
	c.send(proto.EncodeConnectReply(c.old, c.timeout, c.session, c.node.password(c.session)))
	todo := c.early
	c.early = nil
	for _, f := range todo {
		f()
	}
}

// touch notes a sign of life; false means that the session is being closed.
func (c *Conn) touch() bool {
	if l := c.node.lead; l != nil {
		return l.touch(c.session, c.timeout)
	}
	c.node.touches[c.session] = c.timeout
	return true
}

// withLeader runs f at the leader, after everything that this server sent
// there before. Nothing happens without a leader.
func (n *Node) withLeader(f func(*leadership)) {
	if n.lead != nil {
		f(n.lead)
	} else if n.peer != nil {
		p := n.peer
		p.toLeader(func() { f(p.l) })
	}
}

// answer runs f back at server n.
func (l *leadership) answer(n *Node, f func()) {
	if n == l.n {
		f()
	} else if p := l.peers[n.index]; p != nil {
		p.toFollower(f)
	}
}

// Submit takes a request. reply gets the answer; nil sends it to the client.
func (c *Conn) Submit(q proto.Request, reply func(record []byte)) {
	if c.closed {
		return
	}
	if !c.ready {
		c.early = append(c.early, func() { c.Submit(q, reply) })
		return
	}
	if reply == nil {
		reply = c.send
	}
	n := c.node
	c.stats.Received++
	c.stats.LastOp, c.stats.LastXid, c.stats.LastZxid = q.Op, q.Xid, n.tree.LastZxid()
	if q.Op == proto.OpAuth {
		c.auth(&q, reply)
		return
	}
	if !c.touch() {
		return
	}
	if !proto.Known(q.Op) || n.w.cfg.Old && proto.Since36(q.Op) {
		reply(proto.EncodeReply(q.Xid, 0, proto.Unimplemented, nil))
		c.Close()
		return
	}
	o := &op{node: n, conn: c, req: q, session: c.session, ids: slices.Clone(c.ids), reply: reply}
	c.queue = append(c.queue, o)
	switch {
	case proto.IsWrite(q.Op):
		c.forward(o)
	case q.Op == proto.OpSync && n.lead == nil:
		n.withLeader(func(l *leadership) { l.sync(n, o) })
	}
	c.drain()
}

func (c *Conn) forward(o *op) {
	n := c.node
	n.withLeader(func(l *leadership) { l.submit(n, o) })
}

// sync answers when everything proposed so far is committed.
func (l *leadership) sync(from *Node, o *op) {
	reply := func() {
		l.answer(from, func() { from.afterLag(func() { o.complete(nil, nil) }) })
	}
	if len(l.outstanding) == 0 {
		reply()
		return
	}
	p := l.outstanding[len(l.outstanding)-1]
	p.then = append(p.then, reply)
}

// afterLag runs f behind the commits that a lagging replica still holds back.
func (n *Node) afterLag(f func()) {
	if n.lagging && len(n.lagged) > 0 {
		n.lagged = append(n.lagged, &proposal{
			txn: &tree.Txn{Err: proto.OK}, origin: &op{node: n, finish: func(*tree.Txn, []tree.Result) { f() }},
		})
		return
	}
	f()
}

// complete gives o its answer, which is sent when its turn comes.
func (o *op) complete(txn *tree.Txn, results []tree.Result) {
	if o.finish != nil {
		o.finish(txn, results)
		return
	}
	c := o.conn
	if c.closed {
		return
	}
	if txn != nil && txn.Err == proto.SessionMoved {
		c.Close() // no answer: the client must not take it for a verdict
		return
	}
	o.done = true
	zxid := c.node.tree.LastZxid()
	if txn == nil {
		o.record = proto.EncodeReply(o.req.Xid, zxid, proto.OK, encodePath(o.req.Path))
	} else {
		o.record = proto.EncodeReply(o.req.Xid, zxid, txn.Err, encodeResult(&o.req, txn, results))
		o.closing = txn.Op == proto.OpCloseSession && txn.Err == proto.OK
	}
	c.drain()
}

// drain answers the requests at the head of the queue that can be answered.
func (c *Conn) drain() {
	for len(c.queue) > 0 && !c.closed {
		o := c.queue[0]
		if !o.done && (proto.IsWrite(o.req.Op) || o.req.Op == proto.OpSync && c.node.lead == nil) {
			return
		}
		c.queue = c.queue[1:]
		if !o.done {
			code, body := c.read(&o.req)
			o.record = proto.EncodeReply(o.req.Xid, c.node.tree.LastZxid(), code, body)
		}
		o.reply(o.record)
		if o.closing {
			c.Close()
		}
	}
}

func (c *Conn) auth(q *proto.Request, reply func([]byte)) {
	if q.BadBody || q.Scheme != "digest" && q.Scheme != "ip" && q.Scheme != "world" {
		reply(proto.EncodeReply(q.Xid, 0, proto.AuthFailed, nil))
		c.Close()
		return
	}
	if q.Scheme == "digest" {
		id := proto.ID{Scheme: "digest", ID: tree.Digest(string(q.Data))}
		if !slices.Contains(c.ids, id) {
			c.ids = append(c.ids, id)
		}
	}
	reply(proto.EncodeReply(q.Xid, 0, proto.OK, nil))
}
