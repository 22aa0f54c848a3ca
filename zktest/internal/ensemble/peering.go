package ensemble

import (
	"slices"
	"sort"
	"time"
)

// peering is the connection between a leader and one of its followers. Each end
// decides independently when to give up the connection: for the leader the
// peering exists while listed in l.peers, for the follower while being its
// peer.
type peering struct {
	l             *leadership
	follower      *Node
	up, down      *Line
	leaderHeard   time.Duration
	followerHeard time.Duration
	deadline      int // the leader's tick until which the follower counts
}

func (l *leadership) adoptFollower(f *Node) {
	w := l.n.w
	f.stopReads()
	l.n.SetLag(false)
	p := &peering{l: l, follower: f, deadline: l.tick + w.cfg.SyncLimit}
	p.leaderHeard, p.followerHeard = w.clock.Now(), w.clock.Now()
	p.down = NewLine(w.clock, func() bool { return f.frozen || w.cut[[2]int{l.n.index, f.index}] })
	p.up = NewLine(w.clock, func() bool { return l.n.frozen || w.cut[[2]int{f.index, l.n.index}] })
	w.peerings = append(slices.DeleteFunc(w.peerings, func(p *peering) bool { return !p.atLeader() && !p.atFollower() }), p)
	l.peers[f.index] = p
	f.peer, f.epoch = p, l.epoch
	f.tree, f.lagged = l.n.tree.Clone(), nil
	f.accepted = append([]*proposal(nil), l.outstanding...)
	for _, q := range f.accepted {
		p.toLeader(func() { l.noteAck(q, f.index) })
	}
	l.n.startTimer(p.idleLimit(), p.atLeader, p.watchFollower)
	f.startTimer(p.idleLimit(), p.atFollower, p.watchLeader)
}

func (p *peering) idleLimit() time.Duration {
	cfg := &p.l.n.w.cfg
	return time.Duration(cfg.SyncLimit) * cfg.Tick
}

func (p *peering) atLeader() bool   { return p.l.isCurrent() && p.l.peers[p.follower.index] == p }
func (p *peering) atFollower() bool { return p.follower.peer == p }

// toLeader sends f over the follower's stream.
func (p *peering) toLeader(f func()) {
	p.up.Push(p.l.n.w.cfg.Latency, func() {
		if p.atLeader() {
			p.leaderHeard = p.l.n.w.clock.Now()
			p.deadline = p.l.tick + p.l.n.w.cfg.SyncLimit
			f()
		}
	})
}

// toFollower sends f over the leader's stream.
func (p *peering) toFollower(f func()) {
	p.down.Push(p.l.n.w.cfg.Latency, func() {
		if p.atFollower() {
			p.followerHeard = p.l.n.w.clock.Now()
			f()
		}
	})
}

// pingFollower asks the follower for a sign of life; the answer carries the touches.
func (p *peering) pingFollower() {
	p.toFollower(func() {
		touched := p.follower.touches
		p.follower.touches = map[int64]int32{}
		p.toLeader(func() {
			for _, id := range SortedKeys(touched) {
				p.l.touchSession(id, touched[id])
			}
		})
	})
}

// SortedKeys returns the keys of m in ascending order, because results must not
// depend on the order of a map.
func SortedKeys(m map[int64]int32) []int64 {
	out := make([]int64, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// closeFromLeader and closeFromFollower close one end; the other end learns of
// the closing when the packet arrives, or by its own timeout.
func (p *peering) closeFromLeader() {
	p.down.Push(p.l.n.w.cfg.Latency, func() {
		if p.atFollower() {
			p.follower.lookForLeader()
		}
	})
}

func (p *peering) closeFromFollower() {
	p.up.Push(p.l.n.w.cfg.Latency, func() {
		if p.atLeader() {
			delete(p.l.peers, p.follower.index)
		}
	})
}

// watchFollower is the read timeout of the leader's socket.
func (p *peering) watchFollower() {
	idle := p.l.n.w.clock.Now() - p.leaderHeard
	if idle >= p.idleLimit() && !(p.up.Waiting() && !p.up.Blocked()) {
		delete(p.l.peers, p.follower.index)
		p.closeFromLeader()
		return
	}
	wait := p.idleLimit() - idle
	if wait <= 0 {
		wait = p.l.n.w.cfg.Tick / 2
	}
	p.l.n.startTimer(wait, p.atLeader, p.watchFollower)
}

// watchLeader is the read timeout of the follower's socket.
func (p *peering) watchLeader() {
	n := p.follower
	idle := n.w.clock.Now() - p.followerHeard
	if idle >= p.idleLimit() && !(p.down.Waiting() && !p.down.Blocked()) {
		n.lookForLeader()
		return
	}
	wait := p.idleLimit() - idle
	if wait <= 0 {
		wait = n.w.cfg.Tick / 2
	}
	n.startTimer(wait, p.atFollower, p.watchLeader)
}

// electSoon holds an election after the delay, unless an election is already
// scheduled.
func (w *World) electSoon() {
	if !w.electing {
		w.electing = true
		w.clock.After(w.cfg.ElectionDelay, w.electLeader)
	}
}

func (w *World) lookingNodes() []*Node {
	var out []*Node
	for _, n := range w.nodes {
		if !n.Serving() && !n.down && !n.frozen {
			out = append(out, n)
		}
	}
	// The server with the longest log wins; of several, the server with the
	// highest number.
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i].lastLogged(), out[j].lastLogged(); a != b {
			return a > b
		}
		return out[i].index > out[j].index
	})
	return out
}

// acceptsFollower tells whether f can follow: links exist in both directions, the
// leader has a majority (with f), and f never followed a newer leader.
// Otherwise a deposed leader could still commit a write with f's help.
func (l *leadership) acceptsFollower(f *Node) bool {
	w := l.n.w
	_, stale := l.peers[f.index] // its old connection is not yet given up
	return !l.n.frozen && !stale && l.epoch >= f.epoch && w.areConnected(l.n, f) && len(l.peers)+2 >= w.quorum()
}

// electLeader lets looking servers join a leader with a majority. Otherwise the best
// looking server becomes leader if a majority of all servers looks and can hear
// this server.
func (w *World) electLeader() {
	w.electing = false
	for _, l := range w.nodes {
		for _, n := range w.lookingNodes() {
			if l.lead != nil && l.lead.acceptsFollower(n) {
				l.lead.adoptFollower(n)
			}
		}
	}
	looking := w.lookingNodes()
	for _, n := range looking {
		group := []*Node{}
		for _, m := range looking {
			// A server with a longer log cannot follow: its extra entries may be
			// committed.
			if m != n && w.areConnected(n, m) && m.lastLogged() <= n.lastLogged() {
				group = append(group, m)
			}
		}
		if len(group)+1 >= w.quorum() {
			n.becomeLeader()
			for _, m := range group {
				n.lead.adoptFollower(m)
			}
			break
		}
	}
	if len(w.lookingNodes()) > 0 || w.anyFrozenLooker() {
		w.electSoon()
	}
}

func (w *World) anyFrozenLooker() bool {
	for _, n := range w.nodes {
		if n.frozen && !n.Serving() {
			return true
		}
	}
	return false
}
