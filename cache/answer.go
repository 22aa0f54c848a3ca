package cache

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// answer is told what the server said to r.
func (m *machine) answer(r request, a answer) {
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
		m.gotNothing(n, r.op)
	case a.outcome == denied:
		m.gotRefusal(n)
	case r.op == opList:
		m.gotList(n, a)
	default:
		m.gotNode(n, r.op, a)
	}
	switch {
	case !again || n.gone:
	case r.op == opList:
		m.want(n, opList)
	default:
		m.refresh(n)
	}
}

// gotNothing: n was not there.
func (m *machine) gotNothing(n *node, o op) {
	switch {
	case n.bare && o == opStat && n.list.op != opNone:
		// Somebody has created it since, so it is being listed.
	case o == opList && !n.bare:
		m.want(n, opGet) // let a read of the data decide, as it does otherwise
	case n.parent != nil || n.known:
		m.drop(n)
	case m.oneShot && o != opStat:
		m.want(n, opStat) // only this leaves a watch on what does not exist
	}
}

// gotRefusal: n exists, and may not be read. Neither is anything shown that is
// below it: only some of it could be found, and which would depend on chance.
func (m *machine) gotRefusal(n *node) {
	if n.parent == nil {
		m.refused = true
		return
	}
	m.buryChildren(n)
	news := !n.denied
	if news {
		m.tell(n, change{err: session.ErrNoAuth})
	}
	n.known, n.denied, n.listed = true, true, false
	n.stat, n.mark = session.Stat{}, mark{}
	if news && m.oneShot {
		m.refresh(n)
	}
}

// tell adds to the changes what has become of n.
func (m *machine) tell(n *node, c change) {
	c.kind, c.path = EventAdded, n.path
	if n.known {
		c.kind = EventUpdated
	}
	m.changes = append(m.changes, c)
}

// gotNode: the stat of n, or its data too.
func (m *machine) gotNode(n *node, o op, a answer) {
	if !n.bare {
		if o == opStat && !(n.known && unchanged(n.stat, a.stat)) {
			m.want(n, opGet)
			return // the children's turn comes with the data
		}
		if o == opGet {
			m.gotData(n, a)
		}
	}
	if m.lists(n) && !n.listed {
		m.compare(n, a.stat)
	}
}

// gotData: the data of n.
func (m *machine) gotData(n *node, a answer) {
	if n.known && !n.denied && recreated(n.stat, a.stat) {
		// Its children went with it; those that are there now come anew. What we
		// have as one of the old may have been heard of as one of the new since
		// this answer was given: a list tells, whatever the stat says.
		n.owes = n.owes || len(n.children) > 0
		m.buryChildren(n)
		m.changes = append(m.changes, change{kind: EventRemoved, path: n.path})
		n.known, n.listed, n.mark = false, false, mark{}
	}
	if !n.known || n.denied || !unchanged(n.stat, a.stat) {
		m.tell(n, change{data: a.data, stat: a.stat})
	}
	n.known, n.denied, n.stat = true, false, a.stat
}

// compare decides by its stat whether n must be listed: not if nothing has come
// or gone, and not if there is nothing, since children that we know of are asked
// about one by one.
func (m *machine) compare(n *node, stat session.Stat) {
	now := markOf(stat)
	if !m.oneShot && !n.owes && (now == n.mark || stat.NumChildren == 0) {
		n.listed, n.mark = true, now
		return
	}
	m.want(n, opList)
}

// gotList: the names of the children of n.
func (m *machine) gotList(n *node, a answer) {
	there := make(map[string]struct{}, len(a.names))
	for _, name := range a.names {
		there[name] = struct{}{}
	}
	for _, name := range n.names() {
		// A child that is being read is left to that: the list may be older
		// than it.
		if _, ok := there[name]; !ok && n.children[name].data.op == opNone {
			m.drop(n.children[name])
		}
	}
	slices.Sort(a.names)
	for _, name := range a.names {
		if n.children[name] == nil && m.wants(znode.Join(n.path, name)) {
			m.adopt(n, name)
		}
	}
	n.listed, n.owes, n.mark = true, false, markOf(a.stat)
	n.known = true // it is, unless it is bare
}
