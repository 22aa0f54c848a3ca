package session

import (
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Stat is a znode's metadata, as the server keeps it.
type Stat = zk.Stat

// Node is a znode as one request saw it. Path is the full path; Data is nil if
// the request does not read data.
type Node struct {
	Path string
	Data []byte
	Stat Stat
}

// Mode is the kind of a znode to create.
type Mode int32

// The kinds of znodes. A sequential node gets a number from its parent,
// appended to its name; an ephemeral node is deleted with its session and has
// no children; a container is deleted by the server some time after its last
// child went; a TTL node some time after it was last changed, if it has no
// children.
const (
	Persistent              Mode = zk.FlagPersistent
	Ephemeral               Mode = zk.FlagEphemeral
	PersistentSequential    Mode = zk.FlagSequence
	EphemeralSequential     Mode = zk.FlagEphemeralSequential
	Container               Mode = zk.FlagContainer
	PersistentTTL           Mode = zk.FlagTTL
	PersistentSequentialTTL Mode = zk.FlagPersistentSequentialWithTTL
)

func (m Mode) sequential() bool {
	return m == PersistentSequential || m == EphemeralSequential || m == PersistentSequentialTTL
}

func (m Mode) ephemeral() bool { return m == Ephemeral || m == EphemeralSequential }

func (m Mode) ttl() bool { return m == PersistentTTL || m == PersistentSequentialTTL }

func (m Mode) valid() bool { return m >= Persistent && m <= PersistentSequentialTTL }

// code is the request that creates a node of this mode and answers with its
// stat.
func (m Mode) code() int32 {
	switch {
	case m == Container:
		return wire.OpCreateContainer
	case m.ttl():
		return wire.OpCreateTTL
	default:
		return wire.OpCreate
	}
}

// CreateOptions are the optional arguments of a create. nil means all defaults.
type CreateOptions struct {
	// ACL of the node; default: [Options.ACL].
	ACL []ACL
	// TTL of a node of a TTL mode, from one millisecond to some 34 years
	// (2^40-1 ms); it has no default there, and must be 0 in other modes.
	TTL time.Duration
	// Once makes [Session.CreateProtected] fail, with an error that wraps
	// ErrUnknownOutcome, instead of creating the znode again after a lost reply
	// and a search that found no znode. Use Once for znodes that other clients
	// delete: a missing znode may have existed.
	Once bool
	// KeepRemains is for callers of [Session.CreateProtected] that look for the znode
	// themselves after the session was lost during the creation. Otherwise an ephemeral
	// znode that the creation may have left behind is deleted in the client's next session.
	KeepRemains bool
}

// maxTTL is EphemeralType.TTL's largest value, 40 bits of milliseconds.
const maxTTL = (1<<40 - 1) * time.Millisecond
