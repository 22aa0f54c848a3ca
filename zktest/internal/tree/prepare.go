package tree

import (
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// Caller is the client of a request, for the check of its permissions.
type Caller struct {
	Session int64
	IDs     []proto.ID
	// Admin skips all permissions.
	Admin bool
	// NoTTL refuses TTL nodes, as a server without extended types does.
	NoTTL bool
	// Quotas refuses writes that exceed a hard limit.
	Quotas bool
	// SASL: the scheme "sasl" is known.
	SASL bool
}

// record is the state of a node after the earlier parts of the same multi, for
// the later parts.
type record struct {
	exists            bool
	version, aversion int32
	creates           int32
	owner             int64
	children          int
	size              int // of the data
	acl               []proto.ACL
}

// overlay is the tree after the parts checked so far.
type overlay struct {
	t       *Tree
	changed map[string]*record
}

func (o *overlay) get(path string) (*record, bool) {
	if path == "" {
		path = "/"
	}
	if r, ok := o.changed[path]; ok {
		return r, r.exists
	}
	n := o.t.nodes[path]
	if n == nil {
		return nil, false
	}
	return &record{true, n.version, n.aversion, n.creates, n.owner, len(n.children.names), len(n.Data), n.ACL}, true
}

func (o *overlay) put(path string, r *record) {
	if path == "" {
		path = "/"
	}
	o.changed[path] = r
}

// Prepare checks q, a write, and returns its Txn; the caller sets zxid and
// time. A refused write becomes a Txn too.
func (t *Tree) Prepare(q *proto.Request, caller *Caller) *Txn {
	txn := &Txn{Session: caller.Session, Op: q.Op}
	o := &overlay{t: t, changed: map[string]*record{}}
	switch {
	case q.BadBody:
		txn.Err = proto.MarshallingError
	case q.Op == proto.OpMulti:
		txn.Changes = o.prepareMulti(q.Ops, caller)
	case q.Op == proto.OpCreateSession || q.Op == proto.OpCloseSession:
		txn.Changes = []Change{{Op: q.Op, Timeout: q.Flags}}
	default:
		c, code := o.prepareOne(q, caller)
		txn.Err = code
		if code == proto.OK {
			txn.Changes = []Change{c}
		}
	}
	return txn
}

// PrepareSequence returns the Txn for setting the counter of path's sequential
// children to next; false if path does not exist.
func (t *Tree) PrepareSequence(path string, next int32) (*Txn, bool) {
	if t.Get(path) == nil {
		return nil, false
	}
	if path == "" {
		path = "/"
	}
	return &Txn{Op: proto.OpSetACL, Changes: []Change{{Op: proto.OpSetACL, Path: path, Creates: next, Sequence: true}}}, true
}

// PrepareVersion returns the Txn for setting the version of path's data without
// changing the data; false if path does not exist.
func (t *Tree) PrepareVersion(path string, version int32) (*Txn, bool) {
	n := t.Get(path)
	if n == nil {
		return nil, false
	}
	return &Txn{Op: proto.OpSetData, Changes: []Change{{Op: proto.OpSetData, Path: path, Data: n.Data, Version: version}}}, true
}

// prepareMulti returns the changes of all parts, or, if a part is refused, only
// OpError changes: code 0 before this part, the part's own code,
// RuntimeInconsistency after.
func (o *overlay) prepareMulti(ops []proto.Request, caller *Caller) []Change {
	out := make([]Change, 0, len(ops))
	for i := range ops {
		c, code := o.prepareOne(&ops[i], caller)
		if code == proto.OK {
			out = append(out, c)
			continue
		}
		failed := make([]Change, len(ops))
		for j := range failed {
			failed[j] = Change{Op: proto.OpError}
			if j > i {
				failed[j].Err = proto.RuntimeInconsistency
			}
		}
		failed[i].Err = code
		return failed
	}
	return out
}

func (o *overlay) prepareOne(q *proto.Request, caller *Caller) (Change, proto.Code) {
	switch q.Op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return o.prepareCreate(q, caller)
	case proto.OpDelete:
		return o.prepareDelete(q, caller)
	case proto.OpDeleteContainer:
		if !caller.Admin {
			return Change{}, proto.BadArguments // for the server itself only
		}
		return o.prepareReap(q)
	case proto.OpSetData:
		return o.prepareSetData(q, caller)
	case proto.OpSetACL:
		return o.prepareSetACL(q, caller)
	case proto.OpCheck:
		return o.prepareCheck(q, caller)
	case proto.OpReconfig:
		return Change{}, proto.ReconfigDisabled
	}
	return Change{}, proto.Unimplemented
}

func (w *Caller) isAllowed(acls []proto.ACL, perm int32) bool {
	return w.Admin || Allowed(acls, perm, w.IDs)
}

// storedOwner turns flags and time to live into the stored ephemeral owner.
func storedOwner(q *proto.Request, caller *Caller) (int64, proto.Code) {
	ttlFlag := q.Flags == proto.FlagTTL || q.Flags == proto.FlagTTLSequential
	switch {
	case q.Flags < proto.FlagPersistent || q.Flags > proto.FlagTTLSequential:
		return 0, proto.BadArguments
	case ttlFlag && caller.NoTTL:
		return 0, proto.Unimplemented
	case ttlFlag && (q.Op != proto.OpCreateTTL || q.TTL <= 0 || q.TTL > MaxTTL):
		return 0, proto.BadArguments
	case !ttlFlag && q.Op == proto.OpCreateTTL: // kills Apache's server if TTL is -1
		return 0, proto.BadArguments
	case q.Op == proto.OpCreateContainer:
		return ContainerOwner, proto.OK
	case ttlFlag:
		return TTLOwner(q.TTL), proto.OK
	case q.Flags == proto.FlagEphemeral || q.Flags == proto.FlagEphemeralSequential:
		return caller.Session, proto.OK
	}
	// FlagContainer with a plain create makes a persistent node, as in 3.8.
	return 0, proto.OK
}

func isSequential(flags int32) bool {
	return flags == proto.FlagPersistentSequential || flags == proto.FlagEphemeralSequential || flags == proto.FlagTTLSequential
}

func (o *overlay) prepareCreate(q *proto.Request, caller *Caller) (Change, proto.Code) {
	own, code := storedOwner(q, caller)
	if code != proto.OK {
		return Change{}, code
	}
	parentPath, ok := Parent(q.Path)
	if !ok || strings.ContainsRune(q.Path, 0) {
		return Change{}, proto.BadArguments
	}
	acl, ok := fixACL(q.ACL, caller)
	if !ok {
		return Change{}, proto.InvalidACL
	}
	parent, ok := o.get(parentPath)
	if !ok {
		return Change{}, proto.NoNode
	}
	if !caller.isAllowed(parent.acl, proto.PermCreate) {
		return Change{}, proto.NoAuth
	}
	path := q.Path
	if isSequential(q.Flags) {
		path += fmt.Sprintf("%010d", parent.creates)
	}
	if !ValidPath(path) {
		return Change{}, proto.BadArguments
	}
	if _, there := o.get(path); there {
		return Change{}, proto.NodeExists
	}
	if KindOf(parent.owner) == Ephemeral {
		return Change{}, proto.NoChildrenForEphemerals
	}
	if code := o.checkQuota(path, len(q.Data), 1, caller); code != proto.OK {
		return Change{}, code
	}
	p := *parent
	p.creates++
	p.children++
	o.put(parentPath, &p)
	o.put(path, &record{exists: true, owner: own, size: len(q.Data), acl: acl})
	return Change{Op: q.Op, Path: path, Data: q.Data, ACL: acl, Owner: own, Creates: p.creates}, proto.OK
}
