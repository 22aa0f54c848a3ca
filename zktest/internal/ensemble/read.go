package ensemble

import (
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

func encodePath(path string) []byte {
	var w jute.Writer
	w.String(path)
	return w.Bytes()
}

func encodeStat(s proto.Stat) []byte {
	var w jute.Writer
	s.Encode(&w)
	return w.Bytes()
}

// encodeResult returns the body of the answer to a write.
func encodeResult(q *proto.Request, txn *tree.Txn, results []tree.Result) []byte {
	if txn.Err != proto.OK {
		return nil
	}
	if q.Op == proto.OpMulti {
		return encodeMulti(results)
	}
	if len(results) == 0 {
		return nil
	}
	var w jute.Writer
	r := results[0]
	switch q.Op {
	case proto.OpCreate:
		w.String(r.Path)
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		w.String(r.Path)
		r.Stat.Encode(&w)
	case proto.OpSetData, proto.OpSetACL, proto.OpCheck:
		r.Stat.Encode(&w)
	}
	return w.Bytes()
}

func multiHeader(w *jute.Writer, op proto.Op, done bool, code proto.Code) {
	w.Int32(int32(op))
	w.Bool(done)
	w.Int32(int32(code))
}

// encodeMulti returns the results of the parts. As in ZooKeeper containers and
// TTL nodes come back as create2, with a Stat, but create2 itself as create,
// without.
func encodeMulti(results []tree.Result) []byte {
	var w jute.Writer
	for _, r := range results {
		op := r.Op
		switch op {
		case proto.OpCreate2:
			op = proto.OpCreate
		case proto.OpCreateContainer, proto.OpCreateTTL:
			op = proto.OpCreate2
		}
		if op == proto.OpError {
			multiHeader(&w, op, false, r.Err)
		} else {
			multiHeader(&w, op, false, proto.OK)
		}
		switch op {
		case proto.OpCreate:
			w.String(r.Path)
		case proto.OpCreate2:
			w.String(r.Path)
			r.Stat.Encode(&w)
		case proto.OpSetData:
			r.Stat.Encode(&w)
		case proto.OpError:
			w.Int32(int32(r.Err))
		}
	}
	multiHeader(&w, proto.OpError, true, -1)
	return w.Bytes()
}

// answerRead answers a request without the leader.
func (c *Conn) answerRead(q *proto.Request) (proto.Code, []byte) {
	if q.BadBody {
		return proto.MarshallingError, nil
	}
	switch q.Op {
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2, proto.OpGetACL, proto.OpCountChildren:
		return c.readNode(q)
	case proto.OpMultiRead:
		return proto.OK, c.multiRead(q)
	case proto.OpSync:
		return proto.OK, encodePath(q.Path)
	case proto.OpGetEphemerals:
		var w jute.Writer
		list := slices.DeleteFunc(c.node.tree.Ephemerals(c.session), func(p string) bool { return !strings.HasPrefix(p, q.Path) })
		w.Strings(list)
		return proto.OK, w.Bytes()
	case proto.OpSetWatches, proto.OpSetWatches2:
		c.setWatches(&q.Watches)
	case proto.OpAddWatch:
		if q.Mode != 0 && q.Mode != 1 {
			return proto.MarshallingError, nil
		}
		c.node.watches.AddPersistent(q.Path, c.id, tree.Mode(q.Mode)+tree.PersistentWatch)
		var w jute.Writer
		w.Int32(0)
		return proto.OK, w.Bytes()
	case proto.OpCheckWatches, proto.OpRemoveWatches:
		return c.dropWatches(q), nil
	case proto.OpWhoAmI:
		return proto.OK, c.whoAmI()
	}
	return proto.OK, nil
}

func (c *Conn) dropWatches(q *proto.Request) proto.Code {
	if q.Mode < tree.WatchChildren || q.Mode > tree.WatchAny {
		return proto.MarshallingError
	}
	w := c.node.watches
	there := w.Has(q.Path, c.id, q.Mode)
	if q.Op == proto.OpRemoveWatches {
		there = w.Remove(q.Path, c.id, q.Mode)
	}
	if !there {
		return proto.NoWatcher
	}
	return proto.OK
}

func (c *Conn) readNode(q *proto.Request) (proto.Code, []byte) {
	t := c.node.tree
	n := t.Get(q.Path)
	if strings.ContainsRune(q.Path, 0) {
		return proto.BadArguments, nil
	}
	if q.Op == proto.OpExists {
		if n != nil && c.node.w.cfg.StatNeedsRead && !tree.Allowed(n.ACL, proto.PermRead, c.ids) {
			return proto.NoAuth, nil
		}
		if q.Watch {
			c.node.watches.AddData(q.Path, c.id)
		}
	}
	if n == nil {
		return proto.NoNode, nil
	}
	perm := proto.PermRead
	switch q.Op {
	case proto.OpExists:
		return proto.OK, encodeStat(n.Stat())
	case proto.OpGetACL:
		perm |= proto.PermAdmin
	}
	if !tree.Allowed(n.ACL, perm, c.ids) {
		return proto.NoAuth, nil
	}
	var w jute.Writer
	switch q.Op {
	case proto.OpGetData:
		if q.Watch {
			c.node.watches.AddData(q.Path, c.id)
		}
		w.Buffer(n.Data)
		s := n.Stat()
		s.Encode(&w)
	case proto.OpGetChildren, proto.OpGetChildren2:
		if q.Watch {
			c.node.watches.AddChild(q.Path, c.id)
		}
		w.Strings(t.Children(n))
		if s := n.Stat(); q.Op == proto.OpGetChildren2 {
			s.Encode(&w)
		}
	case proto.OpGetACL:
		proto.EncodeACLs(&w, tree.MaskACL(n.ACL, c.ids))
		s := n.Stat()
		s.Encode(&w)
	case proto.OpCountChildren:
		w.Int32(int32(t.CountBelow(q.Path)))
	}
	return proto.OK, w.Bytes()
}

func (c *Conn) multiRead(q *proto.Request) []byte {
	var w jute.Writer
	body := []byte{}
	for i := range q.Ops {
		code, part := c.readNode(&q.Ops[i])
		if code != proto.OK {
			body = append(body, c.multiReadFailure(q.Ops[i].Op, code)...)
			continue
		}
		var h jute.Writer
		multiHeader(&h, q.Ops[i].Op, false, proto.OK)
		body = append(append(body, h.Bytes()...), part...)
	}
	multiHeader(&w, proto.OpError, true, -1)
	return append(body, w.Bytes()...)
}

func (c *Conn) whoAmI() []byte {
	var w jute.Writer
	w.Int32(int32(len(c.ids)))
	for _, id := range c.ids {
		w.String(id.Scheme)
		user := id.ID
		if id.Scheme == "digest" {
			user, _, _ = strings.Cut(user, ":")
		}
		w.String(user)
	}
	return w.Bytes()
}

// setWatches registers the watches of a reconnected client and sends the events
// missed since its last zxid.
func (c *Conn) setWatches(q *proto.SetWatches) {
	t, w := c.node.tree, c.node.watches
	// Together: a step of the server's loop for each of 40,000 events takes long.
	var events [][]byte
	defer func() { c.sendRecords(events...) }()
	fire := func(e proto.EventType, path string) { events = append(events, proto.EncodeEvent(e, path)) }
	for _, p := range q.Data {
		switch n := t.Get(p); {
		case n == nil:
			fire(proto.EventNodeDeleted, p)
		case n.Stat().Mzxid > q.RelativeZxid:
			fire(proto.EventNodeDataChanged, p)
		default:
			w.AddData(p, c.id)
		}
	}
	for _, p := range q.Exist {
		if t.Get(p) != nil {
			fire(proto.EventNodeCreated, p)
		} else {
			w.AddData(p, c.id)
		}
	}
	for _, p := range q.Child {
		switch n := t.Get(p); {
		case n == nil:
			fire(proto.EventNodeDeleted, p)
		case n.Stat().Pzxid > q.RelativeZxid:
			fire(proto.EventNodeChildrenChanged, p)
		default:
			w.AddChild(p, c.id)
		}
	}
	for _, p := range q.Persistent {
		w.AddPersistent(p, c.id, tree.PersistentWatch)
	}
	for _, p := range q.Recursive {
		w.AddPersistent(p, c.id, tree.RecursiveWatch)
	}
}
