package cache

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// machine decides what to read, and what that means for the view. It has no
// clock, goroutine or I/O: it is told of events and answers, and asked for
// requests and changes.
//
// What it relies on is what ZooKeeper promises, and no more: answers come in the
// order of the requests, an event comes before any answer that shows the change,
// and a read that is sent after an event has come sees the change. An answer may
// be older than an event that came before it. So
//
//   - an event during a read of the same node makes for one more read;
//   - a deletion takes the node out of the tree, and a late answer for it finds
//     nobody: nothing comes back from the dead (CH46);
//   - a node is asked for only after its parent, in the same line of requests,
//     so that it is answered after it too;
//   - the creation of a node whose parent is not in the tree needs no read: the
//     parent has yet to be found, and will be listed after that.
//
// On a new connection (begin) everything may have changed. What was asked on the
// old one is void, and each node is compared by its stat: one whose zxids are
// the same is not read again, unless it is small, and is listed again only if
// children have come or gone.
//
// With oneShot set there is no persistent watch: each read leaves a watch
// behind, on the data or on the list. An event then says no more than which of
// them is used up, and every deletion, too, is read.
type machine struct {
	path    string
	bare    bool // the root is
	depth   int  // of the deepest nodes; -1: no limit
	filter  func(string) bool
	oneShot bool

	root    *node
	gen     int // counts connections
	stalled bool
	queue   []visit // reads to send, in this order; [head:] is left
	head    int
	flying  int // reads sent and not answered

	changes []change
	dropped []*node // whose watches nobody needs; oneShot only
	refused bool    // the root may not be read
}

// visit is a place in the queue. What will be asked is in the slot.
type visit struct {
	n    *node
	list bool
}

// request is a read to send.
type request struct {
	n   *node
	op  op
	gen int
}

// outcome is the server's verdict on a read.
type outcome uint8

const (
	found outcome = iota
	missing
	denied
)

// answer is what the server said.
type answer struct {
	outcome outcome
	data    []byte
	names   []string
	stat    session.Stat
}

// change is one of the view. Without err, data and stat are the node's.
type change struct {
	kind EventKind
	path string
	data []byte
	stat session.Stat
	err  error
}

func newMachine(path string, bare bool, depth int, filter func(string) bool) *machine {
	m := &machine{path: path, bare: bare, depth: depth, filter: filter, stalled: true}
	m.root = m.newRoot()
	return m
}

func (m *machine) newRoot() *node { return &node{path: m.path, bare: m.bare} }

// begin starts over on a new connection, on which the persistent watch is set if
// there is one.
func (m *machine) begin(oneShot bool) {
	m.oneShot, m.stalled, m.refused = oneShot, false, false
	m.gen++
	m.queue, m.head, m.flying = nil, 0, 0
	m.revisit(m.root)
}

// littleData is what is rather read again, with others in one request, than
// compared first, in a request of its own.
const littleData = 1024

// revisit has n and all below it read or compared, parents first. What was found
// and not read yet is left to be found again: an answer that misses its parent,
// which may have gone and come again meanwhile, must not leave it ahead.
func (m *machine) revisit(n *node) {
	n.data, n.list, n.listed = slot{}, slot{}, false
	switch {
	case !n.known || n.denied || m.oneShot || !n.bare && n.stat.DataLength <= littleData:
		m.refresh(n)
	default:
		m.want(n, opStat)
	}
	for _, name := range n.names() {
		c := n.children[name]
		if c.known {
			m.revisit(c)
			continue
		}
		n.owes = true
		m.drop(c)
	}
}

// stall: the connection is lost. What was asked on it is void, and nothing is
// asked until the next begins.
func (m *machine) stall() {
	m.stalled = true
	m.gen++
}

// idle: there is nothing to ask and nothing to wait for.
func (m *machine) idle() bool { return !m.stalled && !m.refused && m.pending() == 0 }

func (m *machine) pending() int { return m.queued() + m.flying }

// queued is how many reads are left to send.
func (m *machine) queued() int { return len(m.queue) - m.head }

// next is the next read to send, if there is one.
func (m *machine) next() (request, bool) {
	for !m.stalled && m.head < len(m.queue) {
		v := m.queue[m.head]
		m.queue[m.head] = visit{}
		m.head++
		if v.n.gone {
			continue
		}
		s := &v.n.data
		if v.list {
			s = &v.n.list
		}
		s.sent = true
		m.flying++
		return request{n: v.n, op: s.op, gen: m.gen}, true
	}
	if m.head == len(m.queue) {
		m.queue, m.head = m.queue[:0], 0
	}
	return request{}, false
}

// want has n read, unless that is under way.
func (m *machine) want(n *node, o op) {
	s := n.slot(o)
	switch {
	case s.op == opNone:
		s.op = o
		if m.head > len(m.queue)/2 { // one that is never empty must not grow
			m.queue, m.head = slices.Delete(m.queue, 0, m.head), 0
		}
		m.queue = append(m.queue, visit{n: n, list: o == opList})
	case s.sent:
		s.again = true
	case o == opGet:
		s.op = opGet // rather than compare only
	}
}

// refresh has what matters of n read.
func (m *machine) refresh(n *node) {
	switch {
	case n.bare:
		m.want(n, opList)
	case n.denied && m.oneShot:
		// What is refused leaves no watch. The stat does, and is different
		// from what we know, so that the data is read behind it.
		m.want(n, opStat)
	default:
		m.want(n, opGet)
	}
}

// event is told what a watch saw.
func (m *machine) event(kind session.EventType, path string) {
	n := m.find(path)
	switch {
	case n == nil && (kind == session.EventCreated || kind == session.EventDataChanged):
		m.born(kind, path)
	case n == nil:
		// It is outside of the view, or not found yet and will be read.
	case m.oneShot:
		m.hint(n, kind)
	case kind == session.EventDeleted:
		m.drop(n)
	case kind == session.EventCreated:
		m.refresh(n)
	case kind == session.EventDataChanged && !n.bare:
		m.want(n, opGet)
	}
}

// hint: a one-shot watch has fired, which need not mean anything: two of the same
// kind fire together, so the event may be older than the answer that came with
// the watch. Even the deletion of a node may be one that was before its creation.
func (m *machine) hint(n *node, kind session.EventType) {
	switch {
	case kind == session.EventChildrenChanged:
		if m.lists(n) && (n.known || n.bare) {
			m.want(n, opList)
		}
	case kind != session.EventDataChanged || !n.bare:
		if kind == session.EventDeleted {
			n.listed = false // its other watch is used up too
		}
		m.refresh(n)
	}
}

// born hears of a node that is new to us. As a rule it was just created; but what
// the session may not read servers do not tell of, from 3.8.4 and 3.9.2 on, and of
// one that is opened later we hear first that it has changed.
func (m *machine) born(kind session.EventType, path string) {
	if m.oneShot || !within(m.path, path) || session.ValidatePath(path) != nil {
		return
	}
	name := znode.Base(path)
	dir := max(path[:len(path)-len(name)-1], "/")
	parent := m.find(dir)
	switch {
	case parent == nil || !m.lists(parent) || parent.denied || !m.wants(path):
	case !parent.known && parent.data.again:
		// The read that is under way may miss the parent, and only the next
		// one show it: the child would be ahead. So it is left to the list.
		parent.owes, parent.listed = true, false
	default:
		// Of children of a new one we shall be told as well.
		m.adopt(parent, name).listed = kind == session.EventCreated
	}
}

// adopt has a node of which there is nothing yet but the name read.
func (m *machine) adopt(parent *node, name string) *node {
	n := parent.newChild(name)
	m.want(n, opGet)
	return n
}

// wants reports whether the filter lets path in.
func (m *machine) wants(path string) bool { return m.filter == nil || m.filter(path) }

// lists reports whether the children of n belong to the view.
func (m *machine) lists(n *node) bool { return m.depth < 0 || n.depth < m.depth }

// takeDropped returns the nodes whose watches nobody needs any more.
func (m *machine) takeDropped() []*node {
	nodes := m.dropped
	m.dropped = nil
	return nodes
}
