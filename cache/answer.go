package cache

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// onReply handles the server's answer to r.
func (m *machine) onReply(r request, a answer) {
	if r.gen != m.gen {
		return // void: asked on another connection
	}
	m.flying--
	n := r.n
	if n.gone {
		return
	}
	s := n.slot(r.op)
	again := s.again
	*s = slot{}
	switch {
	case a.outcome == missing && again:
		// It may have been created since: the next answer will tell.
	case a.outcome == missing:
		m.onNoNode(n, r.op)
	case a.outcome == denied:
		m.onRefused(n)
	case r.op == opList:
		m.onChildren(n, a)
	default:
		m.onNode(n, r.op, a)
	}
	switch {
	case !again || n.gone:
	case r.op == opList:
		m.queueRequest(n, opList)
	default:
		m.queueRefresh(n)
	}
}

// onNoNode: n did not exist.
func (m *machine) onNoNode(n *node, o op) {
	switch {
	case n.bare && o == opStat && n.list.op != opNone:
		// Another client has created it since, so it is being listed.
	case o == opList && !n.bare:
		m.queueRequest(n, opGet) // let a read of the data decide, as it does otherwise
	case n.parent != nil || n.known:
		m.dropSubtree(n)
	case m.oneShot && o != opStat:
		m.queueRequest(n, opStat) // only this leaves a watch on a missing node
	}
}

// onRefused: n exists, and may not be read. The nodes below n are not shown either:
// only some of them could be found, and chance would decide which.
func (m *machine) onRefused(n *node) {
	if n.parent == nil {
		m.refused = true
		return
	}
	m.deleteChildren(n)
	news := !n.denied
	if news {
		m.record(n, change{err: session.ErrNoAuth})
	}
	n.known, n.denied, n.listed = true, true, false
	n.seen, n.mark = facts{}, mark{}
	if news && m.oneShot {
		m.queueRefresh(n)
	}
}

// record adds the new state of n to the changes.
func (m *machine) record(n *node, c change) {
	c.kind, c.path = EventAdded, n.path
	if n.known {
		c.kind = EventUpdated
	}
	m.changes = append(m.changes, c)
}

// onNode: the stat of n, or its data too.
func (m *machine) onNode(n *node, o op, a answer) {
	if !n.bare {
		if o == opStat && !(n.known && n.seen == factsOf(a.stat)) {
			m.queueRequest(n, opGet)
			return // the children's turn comes with the data
		}
		if o == opGet {
			m.onData(n, a)
		}
	}
	if m.wantsChildren(n) && !n.listed {
		m.compareStat(n, a.stat)
	}
}

// onData: the data of n.
func (m *machine) onData(n *node, a answer) {
	now := factsOf(a.stat)
	if n.known && !n.denied && recreated(n.seen, now) {
		// The children of the old node went with it; the children of the new node are
		// reported again. A child that is known from the old node may have been
		// reported as a child of the new node since this answer was given: only a list
		// tells, whatever the stat says.
		n.owes = n.owes || len(n.children) > 0
		m.deleteChildren(n)
		m.changes = append(m.changes, change{kind: EventRemoved, path: n.path})
		n.known, n.listed, n.mark = false, false, mark{}
	}
	if !n.known || n.denied || n.seen != now {
		m.record(n, change{data: a.data, stat: a.stat})
	}
	n.known, n.denied, n.seen = true, false, now
}

// compareStat decides by its stat whether n must be listed: not if nothing has come
// or gone, and not if there is nothing, since children that we know of are asked
// about one by one.
func (m *machine) compareStat(n *node, stat session.Stat) {
	now := markOf(stat)
	if !m.oneShot && !n.owes && (now == n.mark || stat.NumChildren == 0) {
		n.listed, n.mark = true, now
		return
	}
	m.queueRequest(n, opList)
}

// onChildren: the names of the children of n.
func (m *machine) onChildren(n *node, a answer) {
	there := make(map[string]struct{}, len(a.names))
	for _, name := range a.names {
		there[name] = struct{}{}
	}
	for _, name := range n.names() {
		// A child that is being read is left to that: the list may be older
		// than it.
		if _, ok := there[name]; !ok && n.children[name].data.op == opNone {
			m.dropSubtree(n.children[name])
		}
	}
	slices.Sort(a.names)
	for _, name := range a.names {
		if n.children[name] == nil && m.includes(znode.Join(n.path, name)) {
			m.addChild(n, name)
		}
	}
	n.listed, n.owes, n.mark = true, false, markOf(a.stat)
	n.known = true // it is, unless it is bare
}
