package ensemble

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

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
	// succeeded is set when done without an error.
	succeeded bool
	// finish replaces the answer to a client.
	finish func(*tree.Txn, []tree.Result)
}

// Submit takes a request. reply gets the answer; nil sends it to the client.
func (c *Conn) Submit(q proto.Request, reply func(record []byte)) {
	if c.closed {
		return
	}
	if !c.ready {
		c.held += q.Size
		c.early = append(c.early, func() {
			c.held -= q.Size
			c.Submit(q, reply)
		})
		return
	}
	if reply == nil {
		reply = func(record []byte) { c.sendRecords(record) }
	}
	n := c.node
	c.stats.Received++
	c.noteUse()
	c.stats.LastOp, c.stats.LastXid, c.stats.LastZxid = q.Op, q.Xid, n.tree.LastZxid()
	switch q.Op {
	case proto.OpAuth:
		c.authenticate(&q, reply)
		return
	case proto.OpSASL:
		c.authenticateSASL(&q, reply)
		return
	}
	if !c.mayAsk() {
		reply(proto.EncodeReply(q.Xid, 0, proto.AuthRequired, nil))
		c.Close()
		return
	}
	if c.isSignOfLife(q.Op) && !c.touchSession() || c.refuseAsKeeper(&q, reply) {
		return
	}
	if !proto.Known(q.Op) || n.w.cfg.Old && proto.Since36(q.Op) {
		reply(proto.EncodeReply(q.Xid, -1, proto.Unimplemented, nil))
		c.Close()
		return
	}
	o := &op{node: n, conn: c, req: q, session: c.session, ids: slices.Clone(c.ids), reply: reply}
	c.queue = append(c.queue, o)
	c.held += q.Size
	switch {
	case n.reads != nil:
		o.refuseUnlessRead()
	case proto.IsWrite(q.Op):
		c.forwardToLeader(o)
	case q.Op == proto.OpSync && n.lead == nil:
		n.withLeader(func(l *leadership) { l.answerSync(n, o) })
	}
	c.Drain()
}

func (c *Conn) forwardToLeader(o *op) {
	n := c.node
	n.withLeader(func(l *leadership) { l.submit(n, o) })
}

// answerSync answers when everything proposed so far is committed.
func (l *leadership) answerSync(from *Node, o *op) {
	reply := func() {
		l.runAt(from, func() { from.afterLag(func() { o.storeAnswer(nil, nil) }) })
	}
	if len(l.outstanding) == 0 {
		reply()
		return
	}
	p := l.outstanding[len(l.outstanding)-1]
	p.then = append(p.then, reply)
}

// afterLag runs f behind the commits held back by a lagging replica.
func (n *Node) afterLag(f func()) {
	if n.lagging && len(n.lagged) > 0 {
		n.lagged = append(n.lagged, &proposal{
			txn: &tree.Txn{Err: proto.OK}, origin: &op{node: n, finish: func(*tree.Txn, []tree.Result) { f() }},
		})
		return
	}
	f()
}

// storeAnswer stores the answer of o; the answer is sent in the order of the
// requests.
func (o *op) storeAnswer(txn *tree.Txn, results []tree.Result) {
	if o.finish != nil {
		o.finish(txn, results)
		return
	}
	c := o.conn
	if c.closed {
		return
	}
	if txn != nil && txn.Err == proto.SessionMoved {
		c.Close() // no answer: for the client the outcome must stay open
		return
	}
	o.done = true
	zxid := c.node.tree.LastZxid()
	if txn == nil {
		o.record = proto.EncodeReply(o.req.Xid, zxid, proto.OK, encodePath(o.req.Path))
	} else {
		o.record = proto.EncodeReply(o.req.Xid, zxid, txn.Err, encodeResult(&o.req, txn, results))
		o.succeeded = txn.Err == proto.OK
		o.closing = txn.Op == proto.OpCloseSession && txn.Err == proto.OK
	}
	c.Drain()
}

// Drain answers the requests at the head of the queue as far as answers are
// available and the client reads them.
func (c *Conn) Drain() {
	defer c.sink.Answered()
	for len(c.queue) > 0 && !c.closed && !c.sink.Full() {
		o := c.queue[0]
		if !o.done && (proto.IsWrite(o.req.Op) || o.req.Op == proto.OpSync && c.node.lead == nil) {
			return
		}
		c.queue = c.queue[1:]
		c.held -= o.req.Size
		if !o.done {
			code, body := c.answerRead(&o.req)
			xid := o.req.Xid
			if o.req.Op == proto.OpPing {
				xid = proto.XidPing // whatever the client wrote
			}
			o.record = proto.EncodeReply(xid, c.node.tree.LastZxid(), code, body)
		}
		if o.req.Op == proto.OpCheck && o.succeeded {
			continue // ZooKeeper never answers a check outside a multi
		}
		if !o.closing || c.node.w.cfg.Product == Apache { // the others just close the connection
			o.reply(o.record)
		}
		if o.closing {
			c.Close()
		}
	}
}
