package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/go-zookeeper/zk"
)

// Request codes of ZooKeeper's protocol that sessions use
// (org.apache.zookeeper.ZooDefs.OpCode).
const (
	OpCreate          int32 = 1
	OpDelete          int32 = 2
	OpExists          int32 = 3
	OpGetData         int32 = 4
	OpSetData         int32 = 5
	OpGetACL          int32 = 6
	OpSetACL          int32 = 7
	OpSync            int32 = 9
	OpPing            int32 = 11
	OpGetChildren2    int32 = 12
	OpCheck           int32 = 13
	OpMulti           int32 = 14
	OpCreate2         int32 = 15
	OpRemoveWatches   int32 = 18
	OpCreateContainer int32 = 19
	OpCreateTTL       int32 = 21
	OpMultiRead       int32 = 22
	OpSetAuth         int32 = 100
	OpSASL            int32 = 102
	OpAddWatch        int32 = 106
	OpCloseSession    int32 = -11
	opError           int32 = -1
)

// Transaction ids with a meaning of their own.
const (
	xidEvent int32 = -1
	xidPing  int32 = -2
	xidAuth  int32 = -4
)

// Codes in the error field of a reply (org.apache.zookeeper.KeeperException.Code)
// that this package treats by itself.
const (
	CodeOK             int32 = 0
	CodeInconsistency  int32 = -2
	CodeUnimplemented  int32 = -6
	CodeSessionExpired int32 = -112
	CodeAuthFailed     int32 = -115
	CodeAuthRequired   int32 = -124
	CodeThrottled      int32 = -127
	CodeSessionMoved   int32 = -118
	CodeReadOnly       int32 = -119
)

// Modes of a watch that stays (ZooDefs.AddWatchModes) and kinds of a watch to
// remove (Watcher.WatcherType).
const (
	WatchPersistent          int32 = 0
	WatchPersistentRecursive int32 = 1

	RemoveChildren int32 = 1
	RemoveData     int32 = 2
	RemoveAny      int32 = 3
)

// DecodeStat reads a node's stat.
func DecodeStat(d *Decoder) zk.Stat {
	return zk.Stat{
		Czxid: d.Int64(), Mzxid: d.Int64(), Ctime: d.Int64(), Mtime: d.Int64(),
		Version: d.Int32(), Cversion: d.Int32(), Aversion: d.Int32(),
		EphemeralOwner: d.Int64(), DataLength: d.Int32(), NumChildren: d.Int32(), Pzxid: d.Int64(),
	}
}

// EncodeACL appends an access control list.
func EncodeACL(e *Encoder, acl []zk.ACL) {
	e.Int32(int32(len(acl)))
	for _, a := range acl {
		e.Int32(a.Perms)
		e.String(a.Scheme)
		e.String(a.ID)
	}
}

// DecodeACL reads an access control list.
func DecodeACL(d *Decoder) []zk.ACL {
	n := d.Count(12)
	out := make([]zk.ACL, 0, n)
	for range n {
		out = append(out, zk.ACL{Perms: d.Int32(), Scheme: d.String(), ID: d.String()})
	}
	return out
}

// Event is a watch event as the server sends it; Path is the server's, chroot
// included.
type Event struct {
	Type zk.EventType
	Path string
}

// connectReply is the server's answer to a handshake.
type connectReply struct {
	version   int32
	timeoutMs int32
	sid       int64
	keeper    bool // see Link.Keeper
	readOnly  bool // see Link.ReadOnly
}

// keeperRefusal is the protocol version in the handshake of a ClickHouse Keeper that has no
// leader (KEEPER_PROTOCOL_VERSION_CONNECTION_REJECT), and of a RaftKeeper that refuses the
// session.
const keeperRefusal int32 = 42

func decodeConnectReply(frame []byte) (connectReply, error) {
	d := NewDecoder(frame)
	r := connectReply{version: d.Int32(), timeoutMs: d.Int32(), sid: d.Int64()}
	password := d.Bytes() // go-zookeeper keeps it
	hasByte := d.Len() > 0
	r.readOnly = hasByte && d.Bool()
	r.keeper = !hasByte || len(bytes.Trim(password, "\x00")) == 0
	return r, d.Err()
}

// isRefusalToMakeASession reports whether the frame, in place of a handshake, is the reply of
// a server without a quorum that makes no sessions: the header alone, with CodeReadOnly.
func isRefusalToMakeASession(frame []byte) bool {
	return len(frame) == headerSize && int32(binary.BigEndian.Uint32(frame[headerSize-4:])) == CodeReadOnly
}

// Result is one operation's part of the answer to a transaction, or to several
// reads in one request.
type Result struct {
	Code int32
	Path string // of a create
	Data []byte // of a read
	Stat zk.Stat
}

// EncodePart begins the next operation of a request that has several; last, with
// an op of -1, ends it.
func EncodePart(e *Encoder, op int32, last bool) {
	e.Int32(op)
	e.Bool(last)
	e.Int32(-1)
}

// DecodeMulti reads the answer to a transaction or to several reads. Of a
// transaction that failed every operation carries a code: 0 for those ahead of the
// culprit, the culprit's own, and CodeInconsistency for those behind it. A read that failed
// has the type of an error and its code once more, or, from ClickHouse Keeper, the type of
// the read and nothing else.
func DecodeMulti(d *Decoder) []Result {
	var out []Result
	for d.Err() == nil {
		op, done, code := d.Int32(), d.Bool(), d.Int32()
		if done || d.Err() != nil {
			return out
		}
		r := Result{Code: code}
		switch op {
		case OpCreate:
			r.Path = d.String()
		case OpCreate2, OpCreateContainer, OpCreateTTL:
			r.Path = d.String()
			r.Stat = DecodeStat(d)
		case OpSetData:
			r.Stat = DecodeStat(d)
		case OpGetData:
			if code == CodeOK {
				r.Data = d.Bytes()
				r.Stat = DecodeStat(d)
			}
		case opError:
			r.Code = d.Int32()
		case OpDelete, OpCheck:
		default:
			d.err = errShort
		}
		out = append(out, r)
	}
	return out
}
