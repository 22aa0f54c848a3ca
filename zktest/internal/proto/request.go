package proto

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
)

// Request is any request; the used fields depend on Op.
type Request struct {
	Xid     int32
	Op      Op
	Path    string
	Data    []byte
	ACL     []ACL
	Flags   int32
	TTL     int64 // milliseconds
	Version int32
	Watch   bool
	// Mode is addWatch's mode or the watcher type of checkWatches and removeWatches.
	Mode int32
	// Ops are the parts of a multi or multiRead.
	Ops []Request
	// Watches of setWatches and setWatches2.
	Watches SetWatches
	// Scheme of setAuth; its token is in Data.
	Scheme string
	// Size is the length in bytes of the received request, if counted.
	Size int
	// BadBody is set when the header was read but not the body.
	BadBody bool
}

// SetWatches are the watches of a client before a reconnect.
type SetWatches struct {
	RelativeZxid                              int64
	Data, Exist, Child, Persistent, Recursive []string
}

// Known tells whether ZooKeeper 3.8 accepts op from a client.
func Known(op Op) bool {
	switch op {
	case OpCreate, OpDelete, OpExists, OpGetData, OpSetData, OpGetACL, OpSetACL, OpGetChildren, OpSync,
		OpPing, OpGetChildren2, OpCheck, OpMulti, OpCreate2, OpReconfig, OpCheckWatches, OpRemoveWatches,
		OpCreateContainer, OpDeleteContainer, OpCreateTTL, OpMultiRead, OpAuth, OpSetWatches, OpSASL,
		OpGetEphemerals, OpCountChildren, OpSetWatches2, OpAddWatch, OpWhoAmI, OpCloseSession:
		return true
	}
	return false
}

// Since36 tells whether op came only after ZooKeeper 3.5.
func Since36(op Op) bool {
	switch op {
	case OpMultiRead, OpGetEphemerals, OpCountChildren, OpSetWatches2, OpAddWatch, OpWhoAmI:
		return true
	}
	return false
}

// IsWrite tells whether op goes through the leader and gets a zxid.
func IsWrite(op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDeleteContainer, OpSetData,
		OpSetACL, OpMulti, OpReconfig, OpCheck, OpCreateSession, OpCloseSession:
		return true
	}
	return false
}

// DecodeRequest reads a request. The error is set only for an unreadable
// header. A bad body sets BadBody, because ZooKeeper answers such requests.
func DecodeRequest(b []byte) (Request, error) {
	r := jute.NewReader(b)
	q := Request{Xid: r.Int32(), Op: Op(r.Int32())}
	if r.Err() != nil {
		return q, fmt.Errorf("proto: request header: %w", r.Err())
	}
	switch q.Op {
	case OpMulti, OpMultiRead:
		decodeMulti(r, &q)
	default:
		decodeBody(r, &q)
	}
	q.BadBody = q.BadBody || r.Err() != nil
	return q, nil
}

// readPath reads a path; ZooKeeper treats null as an unreadable body.
func readPath(r *jute.Reader, q *Request) string {
	b := r.Buffer()
	q.BadBody = q.BadBody || b == nil
	return string(b)
}

func decodeBody(r *jute.Reader, q *Request) {
	switch q.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		q.Path, q.Data, q.ACL, q.Flags = readPath(r, q), r.Buffer(), DecodeACLs(r), r.Int32()
		if q.Op == OpCreateTTL {
			q.TTL = r.Int64()
		}
	case OpDelete, OpCheck:
		q.Path, q.Version = readPath(r, q), r.Int32()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		q.Path, q.Watch = readPath(r, q), r.Bool()
	case OpSetData:
		q.Path, q.Data, q.Version = readPath(r, q), r.Buffer(), r.Int32()
	case OpGetACL, OpSync, OpCountChildren:
		q.Path = readPath(r, q)
	case OpGetEphemerals:
		q.Path = r.String() // a prefix; null is "all"
	case OpReconfig:
		_, _, _, _ = r.String(), r.String(), r.String(), r.Int64()
	case OpSetACL:
		q.Path, q.ACL, q.Version = readPath(r, q), DecodeACLs(r), r.Int32()
	case OpCheckWatches, OpRemoveWatches, OpAddWatch:
		q.Path, q.Mode = readPath(r, q), r.Int32()
	case OpAuth:
		_ = r.Int32()
		q.Scheme, q.Data = r.String(), r.Buffer()
	case OpSASL:
		q.Data = r.Buffer()
	case OpSetWatches, OpSetWatches2:
		w := &q.Watches
		w.RelativeZxid, w.Data, w.Exist, w.Child = r.Int64(), r.Strings(), r.Strings(), r.Strings()
		if q.Op == OpSetWatches2 {
			w.Persistent, w.Recursive = r.Strings(), r.Strings()
			q.BadBody = w.Persistent == nil || w.Recursive == nil
		}
		q.BadBody = q.BadBody || w.Data == nil || w.Exist == nil || w.Child == nil
	}
}

func decodeMulti(r *jute.Reader, q *Request) {
	for r.Err() == nil {
		sub := Request{Xid: q.Xid, Op: Op(r.Int32())}
		done := r.Bool()
		_ = r.Int32()
		if r.Err() != nil || done {
			return
		}
		if !validPart(q.Op, sub.Op) {
			q.BadBody = true
			return
		}
		decodeBody(r, &sub)
		q.BadBody = q.BadBody || sub.BadBody
		q.Ops = append(q.Ops, sub)
	}
}

func validPart(multi, op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
		return multi == OpMulti
	case OpGetData, OpGetChildren:
		return multi == OpMultiRead
	}
	return false
}

// Paths returns all paths of the request, in order.
func (q *Request) Paths() []string {
	switch q.Op {
	case OpMulti, OpMultiRead:
		out := make([]string, 0, len(q.Ops))
		for i := range q.Ops {
			out = append(out, q.Ops[i].Path)
		}
		return out
	case OpSetWatches, OpSetWatches2:
		var out []string
		w := &q.Watches
		for _, l := range [][]string{w.Data, w.Exist, w.Child, w.Persistent, w.Recursive} {
			out = append(out, l...)
		}
		return out
	}
	if q.Path == "" {
		return nil
	}
	return []string{q.Path}
}

// OnlyChecks tells whether the request is a multi without changes.
func (q *Request) OnlyChecks() bool {
	if q.Op != OpMulti || len(q.Ops) == 0 {
		return false
	}
	for i := range q.Ops {
		if q.Ops[i].Op != OpCheck {
			return false
		}
	}
	return true
}
