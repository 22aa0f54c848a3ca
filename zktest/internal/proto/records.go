package proto

import "github.com/zkrecipes/zkrecipes/zktest/internal/jute"

// ACL is one entry of an access control list.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// ID is one identity of a connection.
type ID struct {
	Scheme string
	ID     string
}

// WorldACL returns an ACL with all permissions for all clients.
func WorldACL() []ACL { return []ACL{{PermAll, "world", "anyone"}} }

// Stat is ZooKeeper's metadata of a znode. Times are milliseconds since 1970.
type Stat struct {
	Czxid, Mzxid, Ctime, Mtime  int64
	Version, Cversion, Aversion int32
	EphemeralOwner              int64
	DataLength, NumChildren     int32
	Pzxid                       int64
}

// Encode appends s to w.
func (s *Stat) Encode(w *jute.Writer) {
	w.Int64(s.Czxid)
	w.Int64(s.Mzxid)
	w.Int64(s.Ctime)
	w.Int64(s.Mtime)
	w.Int32(s.Version)
	w.Int32(s.Cversion)
	w.Int32(s.Aversion)
	w.Int64(s.EphemeralOwner)
	w.Int32(s.DataLength)
	w.Int32(s.NumChildren)
	w.Int64(s.Pzxid)
}

// DecodeStat reads a Stat.
func DecodeStat(r *jute.Reader) Stat {
	return Stat{
		Czxid: r.Int64(), Mzxid: r.Int64(), Ctime: r.Int64(), Mtime: r.Int64(),
		Version: r.Int32(), Cversion: r.Int32(), Aversion: r.Int32(),
		EphemeralOwner: r.Int64(), DataLength: r.Int32(), NumChildren: r.Int32(), Pzxid: r.Int64(),
	}
}

// EncodeACLs appends a vector of ACL entries to w.
func EncodeACLs(w *jute.Writer, acls []ACL) {
	w.Int32(int32(len(acls)))
	for _, a := range acls {
		w.Int32(a.Perms)
		w.String(a.Scheme)
		w.String(a.ID)
	}
}

// DecodeACLs reads a vector of ACL entries.
func DecodeACLs(r *jute.Reader) []ACL {
	n := r.Count(12)
	out := make([]ACL, 0, n)
	for i := 0; i < n && r.Err() == nil; i++ {
		out = append(out, ACL{r.Int32(), r.String(), r.String()})
	}
	return out
}

// Connect is the first record of a connection.
type Connect struct {
	Protocol     int32
	LastZxidSeen int64
	Timeout      int32 // milliseconds
	Session      int64
	Password     []byte
	ReadOnly     bool
	// Old is true for clients without a readOnly byte in the request; the reply
	// must not have this byte either.
	Old bool
}

// DecodeConnect reads the first record of a connection.
func DecodeConnect(b []byte) (Connect, error) {
	r := jute.NewReader(b)
	c := Connect{Protocol: r.Int32(), LastZxidSeen: r.Int64(), Timeout: r.Int32(), Session: r.Int64(), Password: r.Buffer()}
	if r.Len() > 0 {
		c.ReadOnly = r.Bool()
	} else {
		c.Old = true
	}
	return c, r.Err()
}

// EncodeConnectReply returns the reply to a Connect; a refused session has
// timeout 0, id 0 and sixteen zero bytes. readOnly is that of the server.
func EncodeConnectReply(old, readOnly bool, timeout int32, session int64, password []byte) []byte {
	var w jute.Writer
	w.Int32(0)
	w.Int32(timeout)
	w.Int64(session)
	w.Buffer(password)
	if !old {
		w.Bool(readOnly)
	}
	return w.Bytes()
}

// EncodeKeeperReply returns the reply of a server of the Keeper family to a Connect: it has
// a password of zeros and no byte for the read-only mode.
func EncodeKeeperReply(protocol, timeout int32, session int64) []byte {
	var w jute.Writer
	w.Int32(protocol)
	w.Int32(timeout)
	w.Int64(session)
	w.Buffer(make([]byte, 16))
	return w.Bytes()
}

// EncodeReply returns a reply header followed by body, which may be nil.
func EncodeReply(xid int32, zxid int64, code Code, body []byte) []byte {
	var w jute.Writer
	w.Int32(xid)
	w.Int64(zxid)
	w.Int32(int32(code))
	return append(w.Bytes(), body...)
}

// EncodeEvent returns a watch event in state "connected", as in 3.8.
func EncodeEvent(t EventType, path string) []byte {
	var w jute.Writer
	w.Int32(XidWatch)
	w.Int64(-1)
	w.Int32(0)
	w.Int32(int32(t))
	w.Int32(3)
	w.String(path)
	return w.Bytes()
}
