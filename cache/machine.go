package cache

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// machine decides which nodes to read, and what the answers mean for the view. It has
// no clock, goroutine or I/O: it is told of events and answers, and asked for requests
// and changes.
//
// The machine relies on ZooKeeper's promises, and on no more: answers come in the order
// of the requests, an event comes before any answer that shows the change, and a read
// that is sent after an event has come sees the change. An answer may be older than an
// event that came before it. So
//
//   - an event during a read of the same node makes for one more read;
//   - a deletion takes the node out of the tree, and a late answer for the node
//     is dropped: a deleted node never comes back (CH46);
//   - a node is asked for only after its parent, in the same line of requests,
//     so that it is answered after it too;
//   - the creation of a node whose parent is not in the tree needs no read: the
//     parent has yet to be found, and will be listed after that.
//
// On a new connection (beginLoad) everything may have changed. The requests on the old
// connection are void, and each node is compared by its stat: a node whose zxids are
// the same is not read again, unless it is small, and is listed again only if children
// have come or gone.
//
// With oneShot set there is no persistent watch: each read leaves a watch behind, on
// the data or on the list. An event then says no more than which of the watches is used
// up, and a deletion, too, is followed by a read.
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
	dropped []*node // whose watches are no longer needed; oneShot only
	refused bool    // the root may not be read
}

// visit is a place in the queue. The request that will be sent is in the slot.
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

// answer is the server's answer to a request.
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

// beginLoad starts over on a new connection, on which the persistent watch is set if
// there is one.
func (m *machine) beginLoad(oneShot bool) {
	m.oneShot, m.stalled, m.refused = oneShot, false, false
	m.gen++
	m.queue, m.head, m.flying = nil, 0, 0
	m.revisitTree(m.root)
}

// littleData is the size up to which data is read again, with others in one request,
// instead of compared first, in a request of its own.
const littleData = 1024

// revisitTree has n and all below it read or compared, parents first. A node that was
// found and not read yet is left to be found again: an answer that misses the parent of
// the node, which may have gone and come again meanwhile, must not leave the node ahead
// of its parent.
func (m *machine) revisitTree(n *node) {
	n.data, n.list, n.listed = slot{}, slot{}, false
	switch {
	case !n.known || n.denied || m.oneShot || !n.bare && n.seen.length <= littleData:
		m.queueRefresh(n)
	default:
		m.queueRequest(n, opStat)
	}
	for _, name := range n.names() {
		c := n.children[name]
		if c.known {
			m.revisitTree(c)
			continue
		}
		n.owes = true
		m.dropSubtree(c)
	}
}

// stopSending: the connection is lost. The requests on it are void, and no request is
// sent until the next connection begins.
func (m *machine) stopSending() {
	m.stalled = true
	m.gen++
}

// idle: there is nothing to ask and nothing to wait for.
func (m *machine) idle() bool { return !m.stalled && !m.refused && m.pending() == 0 }

func (m *machine) pending() int { return m.queued() + m.flying }

// queued is how many reads are left to send.
func (m *machine) queued() int { return len(m.queue) - m.head }

// nextRequest is the next read to send, if there is one.
func (m *machine) nextRequest() (request, bool) {
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

// queueRequest has n read, unless that is in progress.
func (m *machine) queueRequest(n *node, o op) {
	s := n.slot(o)
	switch {
	case s.op == opNone:
		s.op = o
		if m.head > len(m.queue)/2 { // a queue that is never empty must not grow
			m.queue, m.head = slices.Delete(m.queue, 0, m.head), 0
		}
		m.queue = append(m.queue, visit{n: n, list: o == opList})
	case s.sent:
		s.again = true
	case o == opGet:
		s.op = opGet // rather than compare only
	case s.op == opGet:
		// The watch of a stat has fired. If the read is refused, it leaves none: the stat
		// must come behind it.
		s.again = true
	}
}

// queueRefresh has the parts of n read that the view needs.
func (m *machine) queueRefresh(n *node) {
	switch {
	case n.bare:
		m.queueRequest(n, opList)
	case n.denied && m.oneShot:
		// A refused read leaves no watch. The stat request does, and its answer differs
		// from the known stat, so that the data is read behind it.
		m.queueRequest(n, opStat)
	default:
		m.queueRequest(n, opGet)
	}
}

// onEvent takes the event of a watch.
func (m *machine) onEvent(kind session.EventType, path string) {
	n := m.findNode(path)
	switch {
	case n == nil && (kind == session.EventCreated || kind == session.EventDataChanged):
		m.onCreated(kind, path)
	case n == nil:
		// It is outside of the view, or not found yet and will be read.
	case m.oneShot:
		m.onHint(n, kind)
	case kind == session.EventDeleted:
		m.dropSubtree(n)
	case kind == session.EventCreated:
		m.queueRefresh(n)
	case kind == session.EventDataChanged && !n.bare:
		m.queueRequest(n, opGet)
	}
}

// onHint: a one-shot watch has fired, which need not mean anything: two of the same
// kind fire together, so the event may be older than the answer that came with
// the watch. Even the event of a deletion may be older than the creation of the node.
func (m *machine) onHint(n *node, kind session.EventType) {
	switch {
	case kind == session.EventChildrenChanged:
		if m.wantsChildren(n) && (n.known || n.bare) {
			m.queueRequest(n, opList)
		}
	case kind != session.EventDataChanged || !n.bare:
		// A deletion has used up the watch on the list, too. A znode that has taken the
		// node's place is another znode, and is listed for that: see onData.
		m.queueRefresh(n)
	}
}

// onCreated is told of a node that is new to the view. Usually the node was just
// created; but from 3.8.4 and 3.9.2 on, servers send no event for a node that the
// session may not read, and if such a node is opened later, its first event says that
// it has changed.
func (m *machine) onCreated(kind session.EventType, path string) {
	if m.oneShot || !within(m.path, path) || session.ValidatePath(path) != nil {
		return
	}
	name := znode.Base(path)
	dir := max(path[:len(path)-len(name)-1], "/")
	parent := m.findNode(dir)
	switch {
	case parent == nil || !m.wantsChildren(parent) || !m.includes(path):
	case parent.denied, !parent.known && parent.data.again:
		// The parent may have been opened, and be read just now, without the child. Or the
		// read that is in progress may miss the parent, and only the next one show it: the
		// child would be ahead. So it is left to the list.
		parent.owes, parent.listed = true, false
	default:
		// Of children of a new one we shall be told as well.
		m.addChild(parent, name).listed = kind == session.EventCreated
	}
}

// addChild has a node of which there is nothing yet but the name read.
func (m *machine) addChild(parent *node, name string) *node {
	n := parent.newChild(name)
	m.queueRequest(n, opGet)
	return n
}

// includes reports whether the filter lets path in.
func (m *machine) includes(path string) bool { return m.filter == nil || m.filter(path) }

// wantsChildren reports whether the children of n belong to the view.
func (m *machine) wantsChildren(n *node) bool { return m.depth < 0 || int(n.depth) < m.depth }

// takeDropped returns the nodes whose watches are no longer needed.
func (m *machine) takeDropped() []*node {
	nodes := m.dropped
	m.dropped = nil
	return nodes
}
