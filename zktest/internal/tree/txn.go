package tree

import "github.com/zkrecipes/zkrecipes/zktest/internal/proto"

// Txn is a checked change, ready to be carried out.
type Txn struct {
	Zxid    int64
	Time    int64 // milliseconds since 1970
	Session int64
	Op      proto.Op
	// Changes has a single element, or an element for each part of a multi.
	Changes []Change
	// Err is set when the request was refused; such a Txn uses up a zxid and
	// changes nothing. A refused multi has Err zero and OpError changes.
	Err proto.Code
}

// Change is a primitive change.
type Change struct {
	Op      proto.Op
	Path    string // with the sequence number
	Data    []byte
	ACL     []proto.ACL
	Owner   int64 // stored ephemeral owner of a create
	Creates int32 // the parent's count of creates after a create
	Version int32 // version after setData or setACL
	Timeout int32 // of a session, milliseconds
	Err     proto.Code
	// Sequence is set on the administrator's change of the parent's counter.
	Sequence bool
}

// Event is a change seen by watches.
type Event struct {
	Type proto.EventType
	Path string
	// ACL of the node, if any: a client without read permission gets no event.
	ACL []proto.ACL
}

// Result is the report of a change to the requesting client.
type Result struct {
	Op   proto.Op
	Path string
	Stat proto.Stat
	Err  proto.Code
}

// Apply carries out txn and returns the events in ZooKeeper's order, and a
// result for each change.
func (t *Tree) Apply(txn *Txn) ([]Event, []Result) {
	if txn.Zxid > t.last {
		t.last = txn.Zxid
	}
	if txn.Err != proto.OK {
		return nil, nil
	}
	var events []Event
	results := make([]Result, 0, len(txn.Changes))
	for i := range txn.Changes {
		c := &txn.Changes[i]
		ev, stat := t.applyOne(txn, c)
		events = append(events, ev...)
		results = append(results, Result{Op: c.Op, Path: c.Path, Stat: stat, Err: c.Err})
	}
	return events, results
}

func (t *Tree) applyOne(txn *Txn, c *Change) ([]Event, proto.Stat) {
	switch c.Op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return t.applyCreate(txn, c)
	case proto.OpDelete, proto.OpDeleteContainer:
		return t.removeNode(c.Path, txn.Zxid), proto.Stat{}
	case proto.OpSetData:
		n := t.nodes[c.Path]
		t.addToStats(c.Path, len(c.Data)-len(n.Data), 0)
		n.Data, n.version, n.mzxid, n.mtime = c.Data, c.Version, txn.Zxid, txn.Time
		return []Event{{proto.EventNodeDataChanged, c.Path, n.ACL}}, n.Stat()
	case proto.OpSetACL:
		n := t.nodes[c.Path]
		if c.Sequence {
			n.creates = c.Creates
		} else {
			n.ACL, n.aversion = c.ACL, c.Version
		}
		return nil, n.Stat()
	case proto.OpCreateSession:
		t.sessions[txn.Session] = c.Timeout
	case proto.OpCloseSession:
		var events []Event
		for _, p := range t.Ephemerals(txn.Session) {
			events = append(events, t.removeNode(p, txn.Zxid)...)
		}
		delete(t.sessions, txn.Session)
		return events, proto.Stat{}
	}
	return nil, proto.Stat{}
}

func (t *Tree) applyCreate(txn *Txn, c *Change) ([]Event, proto.Stat) {
	parentPath := parentOrRoot(c.Path)
	parent := t.nodes[parentPath]
	count := c.Creates
	if count == -1 {
		count = parent.creates + 1
	}
	// As in ZooKeeper, an overflowed count is smaller and therefore ignored: the
	// same number is handed out indefinitely, and pzxid does not change.
	if count > parent.creates {
		parent.creates, parent.pzxid = count, txn.Zxid
	}
	parent.children.add(baseName(c.Path))
	n := &Node{
		Data: c.Data, ACL: c.ACL, owner: c.Owner,
		czxid: txn.Zxid, mzxid: txn.Zxid, pzxid: txn.Zxid, ctime: txn.Time, mtime: txn.Time,
	}
	t.nodes[c.Path] = n
	switch n.Kind() {
	case Ephemeral:
		if t.ephemerals[c.Owner] == nil {
			t.ephemerals[c.Owner] = map[string]bool{}
		}
		t.ephemerals[c.Owner][c.Path] = true
	case Container, TTL:
		t.reapable[c.Path] = true
	}
	stat := n.Stat()
	t.quotaCreated(c.Path, n)
	return []Event{{proto.EventNodeCreated, c.Path, n.ACL}, {proto.EventNodeChildrenChanged, parentPath, parent.ACL}}, stat
}

func (t *Tree) removeNode(path string, zxid int64) []Event {
	n := t.nodes[path]
	if n == nil {
		return nil
	}
	parentPath := parentOrRoot(path)
	parent := t.nodes[parentPath]
	delete(t.nodes, path)
	delete(t.reapable, path)
	parent.children.remove(baseName(path))
	if zxid > parent.pzxid {
		parent.pzxid = zxid
	}
	if n.Kind() == Ephemeral {
		delete(t.ephemerals[n.owner], path)
		if len(t.ephemerals[n.owner]) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
	t.quotaRemoved(path, n)
	return []Event{{proto.EventNodeDeleted, path, n.ACL}, {proto.EventNodeChildrenChanged, parentPath, parent.ACL}}
}
