package ensemble

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// Product is the server that a World imitates.
type Product int

// The products. The facts about the others than Apache's are from their source, as of
// ClickHouse 26.9 without create2 (which 25.12 has), and RaftKeeper 2.2.
const (
	Apache Product = iota
	ClickHouseKeeper
	RaftKeeper
)

// keeperRefusal is the protocol version in the reply to a handshake that is refused.
const keeperRefusal = 42

// refuseHandshake answers a handshake that no session comes of; expired says that the client
// must not ask for the session again. RaftKeeper says so of all, even without a leader.
func (c *Conn) refuseHandshake(expired bool) {
	if product := c.node.w.cfg.Product; product != Apache {
		timeout := c.timeout
		if expired || product == RaftKeeper {
			timeout = -1
		}
		c.sendRecords(proto.EncodeKeeperReply(keeperRefusal, timeout, c.session))
	} else if expired {
		c.sendRecords(proto.EncodeConnectReply(c.old, c.node.reads != nil, 0, 0, make([]byte, 16)))
	}
	c.Close()
}

// acceptHandshake answers a handshake with the session.
func (c *Conn) acceptHandshake() {
	if c.node.w.cfg.Product != Apache {
		c.sendRecords(proto.EncodeKeeperReply(0, c.timeout, c.session))
		return
	}
	c.sendRecords(proto.EncodeConnectReply(c.old, c.node.reads != nil, c.timeout, c.session, c.node.passwordOf(c.session)))
}

// keeperKnows tells whether the products of the Keeper family know op.
func (p Product) keeperKnows(op proto.Op) bool {
	switch op {
	case proto.OpCreate, proto.OpDelete, proto.OpExists, proto.OpGetData, proto.OpSetData, proto.OpGetACL, proto.OpSetACL,
		proto.OpGetChildren, proto.OpSync, proto.OpPing, proto.OpGetChildren2, proto.OpCheck, proto.OpMulti,
		proto.OpMultiRead, proto.OpAuth, proto.OpSetWatches, proto.OpCloseSession:
		return true
	case proto.OpAddWatch, proto.OpRemoveWatches, proto.OpCheckWatches, proto.OpSetWatches2:
		return p == ClickHouseKeeper
	}
	return false
}

// refuseAsKeeper deals with a request that the product does not know, and reports whether
// there was one. ClickHouse Keeper closes the connection. RaftKeeper leaves the request
// without an answer; containers it refuses.
func (c *Conn) refuseAsKeeper(q *proto.Request, reply func(record []byte)) bool {
	product := c.node.w.cfg.Product
	unknown := !product.keeperKnows(q.Op) || q.Op == proto.OpMulti &&
		slices.ContainsFunc(q.Ops, func(part proto.Request) bool { return !product.keeperKnows(part.Op) })
	switch {
	case product == Apache:
		return false
	case q.Op == proto.OpCreate && q.Flags >= proto.FlagContainer, q.Op == proto.OpCreateContainer && product == RaftKeeper:
		reply(proto.EncodeReply(q.Xid, c.node.tree.LastZxid(), proto.BadArguments, nil))
		return true
	case unknown && product == ClickHouseKeeper:
		c.Close()
	}
	return unknown
}

// isSignOfLife tells whether q keeps the session alive. In Keeper the leader learns only of
// what goes through its log, to which reads do not belong.
func (c *Conn) isSignOfLife(op proto.Op) bool {
	return c.node.w.cfg.Product != ClickHouseKeeper || proto.IsWrite(op) || op == proto.OpPing
}

// eventPath is the path in an event for c: of a recursive watch, ClickHouse Keeper names the
// path of the watch.
func (c *Conn) eventPath(path string) string {
	if c.node.w.cfg.Product == ClickHouseKeeper {
		return c.node.watches.RecursivePath(c.id, path)
	}
	return path
}

// multiReadFailure is the part of a failed read in the answer to a multiRead. ClickHouse
// Keeper leaves the type of the request, and the second code out.
func (c *Conn) multiReadFailure(op proto.Op, code proto.Code) []byte {
	var w jute.Writer
	if c.node.w.cfg.Product == ClickHouseKeeper {
		multiHeader(&w, op, false, code)
		return w.Bytes()
	}
	multiHeader(&w, proto.OpError, false, code)
	w.Int32(int32(code))
	return w.Bytes()
}
