package txnlog

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// Position is a place in a file.
type Position struct {
	// File is the path of the file.
	File string
	// Offset is the first byte of the record.
	Offset int64
}

func (p Position) String() string { return fmt.Sprintf("%s offset %d", p.File, p.Offset) }

// Txn is a transaction as a server has logged it. A logged transaction was
// proposed by a leader; the newest transactions of a log may not be committed,
// and a server removes them when the next leader does not have them.
type Txn struct {
	Zxid    Zxid
	Session int64
	// Cxid is the client's number of the request, unique within the session.
	Cxid int32
	// Time is the leader's clock, in milliseconds.
	Time time.Time
	Type Type
	// Err is the error code of a transaction without effect, and 0 for all
	// others: of an error record, or the first code other than 0 in a multi.
	Err int32
	// Changes are the parts, in order. Nothing of them has been applied if Failed
	// returns true. A closed session has a change of type TypeCloseSession, and a
	// change of type TypeDelete for each ephemeral znode; see PathsKnown.
	Changes []Change
	// PathsKnown is true if the record of a closed session lists the paths deleted
	// with the session. Servers before 3.6 do not list them.
	PathsKnown bool
	// Digest is the digest of the leader's tree after the transaction, with
	// version 0 if the record has none.
	Digest Digest
	// Observed marks a transaction of a recording, which a client has seen: Session and
	// Cxid are unknown, Time is that of the client's clock when it saw the change, and Zxid
	// is 0 if unknown. After is set if the change was seen late: it happened after that
	// moment. SessionEnded is true if the session of a deleted znode has probably ended.
	Observed     bool
	After        time.Time
	SessionEnded bool
	// At is the place of the record.
	At Position
	// Size is the length of the record in the file, in bytes.
	Size int64

	failed  bool
	content []byte // header and record without the digest
}

// Digest is a digest of the whole tree, as computed by a server since 3.6.
type Digest struct {
	Version int32
	Tree    int64
}

// Change is one part of a transaction.
type Change struct {
	Type Type
	// Path is a full znode path; empty for sessions and errors.
	Path string
	// Data is the new data of a create, setData or reconfig. Data is nil if the
	// record has null.
	Data []byte
	// Version is the new version of the data (setData, reconfig) or of the ACL
	// (setACL), or the expected version (check).
	Version int32
	// ParentCversion is the parent's number of creations after a create, or -1 in
	// logs of very old servers.
	ParentCversion int32
	// Owner is the ephemeral owner of a created znode.
	Owner Owner
	// Stat is, in a recording, the whole stat after a create or setData, and Size the
	// length of all data if Data is only the beginning.
	Stat *Stat
	Size int
	// Timeout is the timeout of a created session.
	Timeout time.Duration
	// Err is the error code of a part of type TypeError.
	Err int32
}

// Failed reports whether the transaction has had no effect: an error record, or
// a multi with a failed part. A failed multi still lists its parts before the
// failed part with their own types.
func (t *Txn) Failed() bool { return t.failed }

// Content returns the bytes of the header and of the record, without the
// digest. Two servers have the same transaction if the contents are equal.
func (t *Txn) Content() []byte { return t.content }

// Clone returns a copy that stays valid when the reader goes on.
func (t *Txn) Clone() *Txn {
	c := *t
	c.content = bytes.Clone(t.content)
	c.Changes = slices.Clone(t.Changes)
	for i := range c.Changes {
		c.Changes[i].Data = bytes.Clone(c.Changes[i].Data)
	}
	return &c
}
