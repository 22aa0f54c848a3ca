package ensemble

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// Config of a World; every field must be set but OnCommit and FirstZxid.
type Config struct {
	Servers           int
	Tick              time.Duration
	MinTimeout        time.Duration
	MaxTimeout        time.Duration
	SyncLimit         int
	ElectionDelay     time.Duration
	Latency           time.Duration // between servers, one way
	ContainerInterval time.Duration
	NoTTL             bool
	Product           Product
	Old               bool              // ZooKeeper 3.5
	StatNeedsRead     bool              // 3.9.3: exists is refused as reads are
	Quotas            bool              // enforced
	SASLUsers         map[string]string // passwords by user; nil: no SASL
	EnforceAuth       []string          // schemes, of which a client needs one
	ReadOnly          bool              // servers without a quorum carry out reads
	Logger            *slog.Logger
	// FirstZxid is where zxids begin; 0 is a new ensemble.
	FirstZxid int64
	// OnCommit is told of every committed Txn once, in order.
	OnCommit func(*tree.Txn)
}

// ErrNoLeader is returned when an administrator's change needs a leader and
// there is none.
var ErrNoLeader = errors.New("no leader")

// World is all servers and the links between them.
type World struct {
	cfg      Config
	clock    Clock
	nodes    []*Node
	cut      map[[2]int]bool // from, to: packets are lost
	peerings []*peering
	epoch    int64
	electing bool
	nextConn int64
}

// New returns a World whose servers are up; an ensemble elects its leader
// after ElectionDelay, a single server serves at once.
func New(cfg Config, clock Clock) *World {
	w := &World{cfg: cfg, clock: clock, cut: map[[2]int]bool{}}
	w.createNodes()
	return w
}

// Renew replaces all servers by new, running servers without any state. The
// connections of the old servers end.
func (w *World) Renew() {
	for _, n := range w.nodes {
		n.Stop()
	}
	w.nodes, w.peerings, w.epoch = nil, nil, 0
	w.createNodes()
}

func (w *World) createNodes() {
	cfg, clock := w.cfg, w.clock
	first := tree.New()
	first.StartAt(cfg.FirstZxid)
	for i := 1; i <= cfg.Servers; i++ {
		w.nodes = append(w.nodes, &Node{
			w: w, index: i, tree: first.Clone(), watches: tree.NewWatches(),
			conns: map[int64]*Conn{}, touches: map[int64]int32{},
			nextSession: int64(i)<<56 | int64(uint64(clock.Wall().UnixMilli())<<24>>8),
		})
	}
	for _, n := range w.nodes {
		n.startProcess()
	}
}

// Node returns server i, counted from 1, or nil.
func (w *World) Node(i int) *Node {
	if i < 1 || i > len(w.nodes) {
		return nil
	}
	return w.nodes[i-1]
}

// Len returns the number of servers.
func (w *World) Len() int { return len(w.nodes) }

func (w *World) quorum() int { return len(w.nodes)/2 + 1 }

func (w *World) areConnected(a, b *Node) bool {
	return !w.cut[[2]int{a.index, b.index}] && !w.cut[[2]int{b.index, a.index}]
}

// CutLink loses every packet from server a to server b until Join.
func (w *World) CutLink(a, b int) { w.cut[[2]int{a, b}] = true }

// Join heals every link between servers; messages sent meanwhile arrive now, if
// their connections still exist.
func (w *World) Join() {
	clear(w.cut)
	w.pumpPeers()
}

// Leader returns the present leader, the newest if a deposed leader does not
// know yet, or nil.
func (w *World) Leader() *Node {
	var best *Node
	for _, n := range w.nodes {
		if n.lead != nil && (best == nil || n.lead.epoch > best.lead.epoch) {
			best = n
		}
	}
	return best
}

// Expire ends a session as the leader does on expiry. In an ensemble the end
// takes effect when a majority has logged the end.
func (w *World) Expire(session int64) error {
	n := w.Leader()
	if n == nil {
		return fmt.Errorf("expire session 0x%x: %w", session, ErrNoLeader)
	}
	if n.lead.sessions[session] == nil {
		return fmt.Errorf("expire session 0x%x: no such session", session)
	}
	n.lead.expireSession(session)
	return nil
}

// Admin carries out a write without a session and without permissions. When
// Admin returns, the write is committed and has reached the leader's replica.
// Other replicas receive the write over their links.
func (w *World) Admin(q *proto.Request) (tree.Result, error) {
	n := w.Leader()
	if n == nil {
		return tree.Result{}, ErrNoLeader
	}
	return n.lead.forceCommit(n.lead.head.Prepare(q, &tree.Caller{Admin: true}))
}

// SetSequence sets the counter that the next sequential child of path gets.
func (w *World) SetSequence(path string, next int32) error {
	n := w.Leader()
	if n == nil {
		return ErrNoLeader
	}
	txn, ok := n.lead.head.PrepareSequence(path, next)
	if !ok {
		return CodeError(proto.NoNode)
	}
	_, err := n.lead.forceCommit(txn)
	return err
}

// SetVersion sets the version of path's data.
func (w *World) SetVersion(path string, version int32) error {
	n := w.Leader()
	if n == nil {
		return ErrNoLeader
	}
	txn, ok := n.lead.head.PrepareVersion(path, version)
	if !ok {
		return CodeError(proto.NoNode)
	}
	_, err := n.lead.forceCommit(txn)
	return err
}

// CodeError is an error code as an error.
type CodeError proto.Code

// Error implements error.
func (c CodeError) Error() string { return fmt.Sprintf("zookeeper error %d", int32(c)) }
