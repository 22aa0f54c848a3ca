package ensemble

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sort"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// Node is one server.
type Node struct {
	w       *World
	index   int
	tree    *tree.Tree
	watches *tree.Watches
	conns   map[int64]*Conn
	down    bool
	frozen  bool
	late    []func() // timers that fired while frozen
	lead    *leadership
	peer    *peering // to the leader
	epoch   int64    // of the newest leader followed, or led as, so far
	// touches are the sessions heard from since the leader's last ping, with
	// their timeouts in milliseconds.
	touches map[int64]int32
	// accepted are proposals in the log whose commit has not been heard of.
	accepted    []*proposal
	lagging     bool
	lagged      []*proposal
	nextSession int64
	// reads is set while the server has no quorum and carries out reads; looks counts how
	// often it began or ceased to look for a leader.
	reads *readServer
	looks int
}

// Index returns the server's number, from 1.
func (n *Node) Index() int { return n.index }

// Tree returns the server's replica.
func (n *Node) Tree() *tree.Tree { return n.tree }

// Watches returns the watches of the server's clients, owned by Conn.ID.
func (n *Node) Watches() *tree.Watches { return n.watches }

// Frozen tells whether the process is stopped by a signal.
func (n *Node) Frozen() bool { return n.frozen }

// Down tells whether the process does not run.
func (n *Node) Down() bool { return n.down }

// Serving tells whether clients are served: the server leads or follows.
func (n *Node) Serving() bool { return !n.down && (n.lead != nil || n.peer != nil) }

// Mode returns the server's mode as reported by the four-letter words.
func (n *Node) Mode() string {
	switch {
	case n.reads != nil:
		return "read-only"
	case !n.Serving():
		return ""
	case len(n.w.nodes) == 1:
		return "standalone"
	case n.lead != nil:
		return "leader"
	}
	return "follower"
}

// Conns returns the clients' connections in the order of their arrival.
func (n *Node) Conns() []*Conn {
	out := make([]*Conn, 0, len(n.conns))
	for _, c := range n.conns {
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// startTimer starts a timer of the process. The timer does not fire while the
// process is frozen. If valid returns false, as after a restart, f is not
// called.
func (n *Node) startTimer(d time.Duration, valid func() bool, f func()) {
	run := func() {
		if valid() {
			f()
		}
	}
	n.w.clock.After(d, func() {
		if n.frozen {
			n.late = append(n.late, run)
			return
		}
		run()
	})
}

func (n *Node) startProcess() {
	n.down = false
	if len(n.w.nodes) == 1 {
		n.becomeLeader()
		return
	}
	n.readSoon()
	n.w.electSoon()
}

// Start restarts the process after Stop.
func (n *Node) Start() {
	if n.down {
		n.startProcess()
	}
}

// Stop kills the process. Tree, sessions and log stay, as on a disk.
func (n *Node) Stop() {
	if n.down {
		return
	}
	n.stopReads()
	n.stopServing()
	n.down, n.frozen, n.late = true, false, nil
}

// Freeze stops the process as SIGSTOP does.
func (n *Node) Freeze() { n.frozen = !n.down }

// Thaw resumes a frozen process: due timers fire first, then the messages in
// its sockets are processed.
func (n *Node) Thaw() {
	if !n.frozen {
		return
	}
	n.frozen = false
	late := n.late
	n.late = nil
	for _, f := range late {
		f()
	}
	n.w.pumpPeers()
}

// SetLag stops or resumes the application of commits to the replica.
func (n *Node) SetLag(on bool) {
	n.lagging = on
	if on {
		return
	}
	todo := n.lagged
	n.lagged = nil
	for _, p := range todo {
		n.applyProposal(p)
	}
}

// pumpPeers delivers waiting messages between servers, also on connections
// given up by one end.
func (w *World) pumpPeers() {
	w.peerings = slices.DeleteFunc(w.peerings, func(p *peering) bool { return !p.atLeader() && !p.atFollower() })
	for _, p := range slices.Clone(w.peerings) {
		p.up.Pump()
		p.down.Pump()
	}
}

// stopServing closes every client connection and leaves the ensemble.
func (n *Node) stopServing() {
	if l := n.lead; l != nil {
		n.lead = nil
		for _, i := range l.followerNumbers() {
			l.peers[i].closeFromLeader()
		}
	}
	if p := n.peer; p != nil {
		n.peer = nil
		p.closeFromFollower()
	}
	n.closeClients()
}

// closeClients closes every client connection.
func (n *Node) closeClients() {
	clear(n.touches)
	for _, c := range n.Conns() {
		c.Close()
	}
}

// lookForLeader gives up the present role and looks for a leader.
func (n *Node) lookForLeader() {
	n.w.cfg.Logger.Debug("looking for a leader", "server", n.index)
	n.stopServing()
	n.readSoon()
	n.w.electSoon()
}

func (n *Node) passwordOf(session int64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(session))
	sum := sha256.Sum256(append([]byte("zktest session "), b[:]...))
	return sum[:16]
}

// noteCommit records that p is committed.
func (n *Node) noteCommit(p *proposal) {
	if len(n.accepted) > 0 && n.accepted[0] == p {
		n.accepted = n.accepted[1:]
	}
	if n.lagging {
		n.lagged = append(n.lagged, p)
		return
	}
	n.applyProposal(p)
}

func (n *Node) applyProposal(p *proposal) {
	events, results := n.tree.Apply(p.txn)
	for _, e := range events {
		for _, owner := range n.watches.Fire(e) {
			// As since CVE-2024-23944: a watch without read permission is used up
			// silently.
			if c := n.conns[owner]; c != nil && tree.Allowed(e.ACL, proto.PermRead, c.ids) {
				c.sendRecords(proto.EncodeEvent(e.Type, c.eventPath(e.Path)))
			}
		}
	}
	if o := p.origin; o != nil && o.node == n {
		o.storeAnswer(p.txn, results)
	}
	if p.txn.Op == proto.OpCloseSession && p.txn.Err == proto.OK {
		for _, c := range n.Conns() {
			if c.session == p.txn.Session {
				c.Close()
			}
		}
	}
}

func (n *Node) lastLogged() int64 {
	last := n.tree.LastZxid()
	for _, list := range [][]*proposal{n.lagged, n.accepted} {
		for _, p := range list {
			last = max(last, p.txn.Zxid)
		}
	}
	return last
}

// Followers returns how many followers a leader has.
func (n *Node) Followers() int {
	if n.lead == nil {
		return 0
	}
	return len(n.lead.peers)
}
