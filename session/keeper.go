package session

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// ClickHouse Keeper and RaftKeeper speak ZooKeeper's protocol with fewer requests, and end
// the connection, or leave a request without an answer, when they do not know one. A session
// knows them by their handshake ([wire.Link.Keeper]), and does without these requests.

// errKeeper is the reason of a refusal.
var errKeeper = fmt.Errorf("%w: a server of the Keeper family", ErrUnsupported)

// adaptOp returns op with a request that the present server knows.
func (s *Session) adaptOp(op Op) (Op, error) {
	switch {
	case !s.link.Keeper():
	case op.mode.ttl():
		return op, fmt.Errorf("%w has no TTL nodes", errKeeper)
	case op.kind == wire.OpCreateContainer:
		op.kind, op.mode = wire.OpCreate, Persistent
	}
	return op, nil
}

// errNoStat is the reason of a creation whose stat was asked for in vain.
var errNoStat = fmt.Errorf("%w; the stat of the znode was not answered", wire.ErrUnanswered)

// startPlainCreate is StartCreate on a server without create2: the stat is read behind the
// creation.
func (s *Session) startPlainCreate(r request[Node]) *Future[Node] {
	both := &Future[Node]{op: r.op, path: r.path, write: true, done: make(chan struct{})}
	start(s, r).Then(func(node Node, err error) {
		if err != nil {
			both.setResult(node, err)
			return
		}
		s.StartExists(node.Path, false).Then(func(seen Seen, err error) {
			switch {
			case Unanswered(err), NotSent(err):
				// The caller must not take it for a creation that was not sent.
				both.setResult(Node{}, both.fail(errNoStat, true))
				return
			case seen.Exists: // otherwise it has been deleted since, or may not be read
				node.Stat = seen.Stat
			}
			both.setResult(node, nil)
		})
	})
	return both
}

// plainStat is what the reply to a plain create tells about the znode: the moment of its
// creation.
func plainStat(zxid int64, op Op, owner int64) Stat {
	stat := Stat{Czxid: zxid, Mzxid: zxid, Pzxid: zxid, DataLength: int32(len(op.data))}
	if op.mode.ephemeral() {
		stat.EphemeralOwner = owner
	}
	return stat
}

// removeWatches frees the server's registration of watches. It is not waited for; without a
// connection there is nothing to remove, since a watch lives and dies with its connection.
// Keepers before ClickHouse #88813 know no such request: there the registration stays until
// the event, for which nothing waits any more.
func (s *Session) removeWatches(path string, kind int32) {
	if s.link.Keeper() {
		return
	}
	_ = s.link.Send(&wire.Call{Op: wire.OpRemoveWatches, Done: func(wire.Answer) {}}, func(e *wire.Encoder) {
		e.String(path)
		e.Int32(kind)
	})
}
