package ensemble

import (
	"sort"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// leadership is the state of a leading server.
type leadership struct {
	n     *Node
	epoch int64
	zxid  int64
	// head is the tree with all proposals applied; with a single server, head is
	// the server's own tree.
	head        *tree.Tree
	outstanding []*proposal
	peers       map[int]*peering
	sessions    map[int64]*tracked
	polling     bool
	tick        int
	skip        bool
}

// proposal is a Txn on its way to being committed.
type proposal struct {
	txn    *tree.Txn
	origin *op
	acks   map[int]bool
	// committed is set after a leader has announced the commit.
	committed bool
	// then runs at the leader after the commit (answers to syncs).
	then []func()
}

func (n *Node) becomeLeader() {
	w := n.w
	n.stopReads()
	n.SetLag(false)
	l := &leadership{n: n, peers: map[int]*peering{}, sessions: map[int64]*tracked{}, zxid: n.tree.LastZxid(), head: n.tree}
	todo := n.accepted
	n.accepted = nil
	for _, p := range todo {
		// A majority may have had the proposal, so the new leader commits its
		// whole log.
		p.origin = nil
		n.applyProposal(p)
		l.announceCommit(p)
	}
	if len(w.nodes) > 1 {
		w.epoch++
		l.epoch, l.zxid, l.head = w.epoch, w.epoch<<32, n.tree.Clone()
		l.skip = true
		n.startTimer(w.cfg.Tick/2, l.isCurrent, l.halfTick)
	}
	n.lead, n.epoch = l, l.epoch
	for id, timeout := range n.tree.Sessions() {
		l.sessions[id] = &tracked{timeout: timeout}
		l.touchSession(id, timeout)
	}
	n.startTimer(w.cfg.ContainerInterval, l.isCurrent, l.reapNodes)
	w.cfg.Logger.Debug("leading", "server", n.index, "epoch", l.epoch)
}

func (l *leadership) isCurrent() bool { return l.n.lead == l }

func (l *leadership) followerNumbers() []int {
	out := make([]int, 0, len(l.peers))
	for i := range l.peers {
		out = append(out, i)
	}
	sort.Ints(out)
	return out
}

func (l *leadership) announceCommit(p *proposal) {
	if f := l.n.w.cfg.OnCommit; f != nil && !p.committed {
		f(p.txn)
	}
	p.committed = true
}

// submit handles a write, forwarded by server from.
func (l *leadership) submit(from *Node, o *op) {
	q := &o.req
	var txn *tree.Txn
	switch {
	case q.Op == proto.OpCreateSession:
		l.sessions[o.session] = &tracked{timeout: q.Flags, owner: from}
		l.touchSession(o.session, q.Flags)
	default:
		if code := l.checkSession(o.session, from); code != proto.OK {
			txn = &tree.Txn{Session: o.session, Op: q.Op, Err: code}
		} else if q.Op == proto.OpCloseSession {
			l.sessions[o.session].closing = true
		}
	}
	if txn == nil {
		txn = l.head.Prepare(q, &tree.Caller{Session: o.session, IDs: o.ids, NoTTL: l.n.w.cfg.NoTTL, Quotas: l.n.w.cfg.Quotas, SASL: l.n.w.cfg.SASLUsers != nil})
	}
	l.propose(txn, o)
}

func (l *leadership) propose(txn *tree.Txn, o *op) *proposal {
	l.zxid++
	txn.Zxid, txn.Time = l.zxid, l.n.w.clock.Wall().UnixMilli()
	if l.head != l.n.tree {
		l.head.Apply(txn)
	}
	p := &proposal{txn: txn, origin: o, acks: map[int]bool{l.n.index: true}}
	l.outstanding = append(l.outstanding, p)
	l.n.accepted = append(l.n.accepted, p)
	for _, i := range l.followerNumbers() {
		peer := l.peers[i]
		peer.toFollower(func() {
			peer.follower.accepted = append(peer.follower.accepted, p)
			peer.toLeader(func() { l.noteAck(p, i) })
		})
	}
	l.commitAcknowledged()
	return p
}

func (l *leadership) noteAck(p *proposal, from int) {
	p.acks[from] = true
	l.commitAcknowledged()
}

// commitAcknowledged commits, in order, all proposals acknowledged by a majority.
func (l *leadership) commitAcknowledged() {
	for l.isCurrent() && len(l.outstanding) > 0 && len(l.outstanding[0].acks) >= l.n.w.quorum() {
		p := l.outstanding[0]
		l.outstanding = l.outstanding[1:]
		if p.txn.Op == proto.OpCloseSession && p.txn.Err == proto.OK {
			delete(l.sessions, p.txn.Session)
		}
		l.announceCommit(p)
		l.n.noteCommit(p)
		for _, i := range l.followerNumbers() {
			peer := l.peers[i]
			peer.toFollower(func() { peer.follower.noteCommit(p) })
		}
		for _, f := range p.then {
			f()
		}
	}
}

// forceCommit proposes txn, and immediately commits txn and all earlier proposals.
func (l *leadership) forceCommit(txn *tree.Txn) (tree.Result, error) {
	o := &op{node: l.n}
	var res tree.Result
	o.finish = func(_ *tree.Txn, r []tree.Result) {
		if len(r) > 0 {
			res = r[0]
		}
	}
	p := l.propose(txn, o)
	for _, q := range l.outstanding {
		for i := range l.n.w.nodes {
			q.acks[i+1] = true
		}
	}
	l.commitAcknowledged()
	if p.txn.Err != proto.OK {
		return res, CodeError(p.txn.Err)
	}
	for _, r := range p.txn.Changes {
		if r.Err != proto.OK {
			return res, CodeError(r.Err)
		}
	}
	return res, nil
}

// halfTick is the leader's loop: check for a majority every tick, ping the
// followers every half tick.
func (l *leadership) halfTick() {
	cfg := &l.n.w.cfg
	if !l.skip {
		l.tick++
		synced := 1
		for _, p := range l.peers {
			if l.tick <= p.deadline {
				synced++
			}
		}
		if synced < l.n.w.quorum() {
			l.n.lookForLeader()
			return
		}
	}
	l.skip = !l.skip
	for _, i := range l.followerNumbers() {
		l.peers[i].pingFollower()
	}
	l.n.startTimer(cfg.Tick/2, l.isCurrent, l.halfTick)
}

// reapNodes deletes emptied containers and expired TTL nodes.
func (l *leadership) reapNodes() {
	for _, path := range l.head.Reapable(l.n.w.clock.Wall().UnixMilli()) {
		q := &proto.Request{Op: proto.OpDeleteContainer, Path: path}
		l.propose(l.head.Prepare(q, &tree.Caller{Admin: true}), nil)
	}
	l.n.startTimer(l.n.w.cfg.ContainerInterval, l.isCurrent, l.reapNodes)
}

// tracked is a session in the leader's table.
type tracked struct {
	timeout int32         // granted, milliseconds
	expiry  time.Duration // a multiple of the tick
	closing bool
	owner   *Node
}

// touchSession postpones the expiry of a session and tells whether the session is
// alive. The end is rounded up to the next tick, as in ZooKeeper's ExpiryQueue.
func (l *leadership) touchSession(session int64, timeout int32) bool {
	s := l.sessions[session]
	if s == nil || s.closing {
		return false
	}
	tick := l.n.w.cfg.Tick
	end := l.n.w.clock.Now() + time.Duration(timeout)*time.Millisecond
	s.expiry = (end/tick + 1) * tick
	if !l.polling {
		l.polling = true
		l.pollExpiry()
	}
	return true
}

// pollExpiry looks for expired sessions at every tick while there are sessions.
func (l *leadership) pollExpiry() {
	now, tick := l.n.w.clock.Now(), l.n.w.cfg.Tick
	l.n.startTimer((now/tick+1)*tick-now, l.isCurrent, func() {
		for _, id := range l.expiredSessions() {
			l.expireSession(id)
		}
		l.polling = len(l.sessions) > 0
		if l.polling {
			l.pollExpiry()
		}
	})
}

func (l *leadership) expiredSessions() []int64 {
	var out []int64
	for id, s := range l.sessions {
		if !s.closing && s.expiry <= l.n.w.clock.Now() {
			out = append(out, id)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

func (l *leadership) expireSession(session int64) {
	s := l.sessions[session]
	if s == nil || s.closing {
		return
	}
	s.closing = true
	q := &proto.Request{Op: proto.OpCloseSession}
	l.propose(l.head.Prepare(q, &tree.Caller{Session: session}), nil)
}

// checkSession is the leader's test before a write: is the session alive, and is from
// the server to which its client last attached?
func (l *leadership) checkSession(session int64, from *Node) proto.Code {
	s := l.sessions[session]
	switch {
	case s == nil || s.closing:
		return proto.SessionExpired
	case s.owner == nil:
		s.owner = from
	case s.owner != from:
		return proto.SessionMoved
	}
	return proto.OK
}
