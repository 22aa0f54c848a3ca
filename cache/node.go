package cache

import (
	"maps"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// node is a znode that the machine knows, or believes to exist.
type node struct {
	path     string
	parent   *node
	children map[string]*node // by name

	seen facts // as of the last read of its data
	// listed: on this connection, all its children are known, and new children will be
	// reported. mark is the state of its children on the server at some time when the
	// tree had a node for each of them. owes: a child was not asked for, so that the
	// node must be listed in any case.
	mark   mark
	listed bool
	owes   bool

	bare   bool // only its children matter: no data, no entry
	known  bool // it has an entry; a bare one exists
	denied bool // its entry says that it may not be read
	gone   bool // out of the tree; answers for it mean nothing

	data, list slot
	depth      int32
}

// slot is a read of a node that is in progress. A node has at most one read of each
// kind, so a node that changes all the time costs one read after the other, never two
// at once.
type slot struct {
	op    op
	sent  bool
	again bool // an event has come since the read was sent: read once more
}

// op is a kind of read.
type op uint8

const (
	opNone op = iota
	opStat    // does it exist, and has it changed?
	opGet     // its data
	opList    // its children
)

func (n *node) slot(o op) *slot {
	if o == opList {
		return &n.list
	}
	return &n.data
}

// newChild makes a child, which is in the tree from then on.
func (n *node) newChild(name string) *node {
	c := &node{path: znode.Join(n.path, name), parent: n, depth: n.depth + 1}
	if n.children == nil {
		n.children = make(map[string]*node)
	}
	n.children[znode.Base(c.path)] = c // shares the path's bytes, not the list's
	return c
}

// names returns the names of the children, sorted: requests and changes are in the same
// order every time.
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

// mark is the part of a stat about children. Equal marks mean that no child has come or
// gone in between.
type mark struct {
	czxid, ctime, pzxid int64
	cversion, number    int32
}

func markOf(s session.Stat) mark { return mark{s.Czxid, s.Ctime, s.Pzxid, s.Cversion, s.NumChildren} }

// facts is the part of a stat that tells whether a znode is the same, with the same data.
// There is one for each node of a view, so the rest of the stat is not kept beside it.
type facts struct {
	czxid, ctime, mzxid, mtime int64
	version, length            int32
}

func factsOf(s session.Stat) facts {
	return facts{s.Czxid, s.Ctime, s.Mzxid, s.Mtime, s.Version, s.DataLength}
}

// recreated reports whether b is another znode than a. The version does not tell this:
// it begins at 0 again (CH41). The times are there for the sake of an ensemble that was
// recreated empty, and counts its transactions from the start.
func recreated(a, b facts) bool { return a.czxid != b.czxid || a.ctime != b.ctime }

// findNode returns the node of path, or nil.
func (m *machine) findNode(path string) *node {
	if path == m.path {
		return m.root
	}
	if !within(m.path, path) {
		return nil
	}
	n, rest := m.root, strings.TrimPrefix(path[len(m.path):], "/")
	for n != nil && rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		n = n.children[name]
	}
	return n
}

// within reports whether path is below dir.
func within(dir, path string) bool {
	return strings.HasPrefix(path, dir) && (dir == "/" && path != "/" || len(path) > len(dir) && path[len(dir)] == '/')
}

// dropSubtree takes n, and the nodes below it, out of the tree and the view.
func (m *machine) dropSubtree(n *node) {
	m.recordDeleted(n)
	if n.parent != nil {
		delete(n.parent.children, znode.Base(n.path))
		n.parent.mark = mark{} // there is no node for each of them any more
		return
	}
	m.root = m.newRoot()
	if m.oneShot {
		m.queueRequest(m.root, opStat) // its watch reports when the root is created again
	}
}

// recordDeleted ends n and all below it: children are removed before their parents.
func (m *machine) recordDeleted(n *node) {
	m.deleteChildren(n)
	n.gone = true
	if n.known && !n.bare {
		m.changes = append(m.changes, change{kind: EventRemoved, path: n.path})
	}
	if m.oneShot {
		m.dropped = append(m.dropped, n)
	}
}

func (m *machine) deleteChildren(n *node) {
	for _, name := range n.names() {
		m.recordDeleted(n.children[name])
	}
	n.children = nil
}
