package tree

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// ContainerOwner is the stored ephemeral owner of a container.
const ContainerOwner = math.MinInt64

// MaxTTL is the largest time to live, in milliseconds.
const MaxTTL = 1<<40 - 1

// ttlMask marks an ephemeral owner as a time to live.
const ttlMask = int64(-1) << 56 // 0xff00000000000000

// TTLOwner returns the stored ephemeral owner of a TTL node.
func TTLOwner(ttl int64) int64 { return ttlMask | ttl }

// Kind is the lifetime of a node.
type Kind int

// Kinds of nodes.
const (
	Persistent Kind = iota
	Ephemeral
	Container
	TTL
)

// KindOf reads the kind out of a stored ephemeral owner.
func KindOf(owner int64) Kind {
	switch {
	case owner == 0:
		return Persistent
	case owner == ContainerOwner:
		return Container
	case owner&ttlMask == ttlMask:
		return TTL
	}
	return Ephemeral
}

// Node is one znode. Its byte slices are never changed in place.
type Node struct {
	Data     []byte
	ACL      []proto.ACL
	czxid    int64
	mzxid    int64
	pzxid    int64
	ctime    int64
	mtime    int64
	version  int32
	aversion int32
	// creates counts the creates of children. Sequence suffixes and
	// Stat.Cversion are derived from creates.
	creates  int32
	owner    int64
	children kids
}

// Stat returns the Stat as shown to clients. Its child version counts deletes
// too: twice the creates minus the present children.
func (n *Node) Stat() proto.Stat {
	kids := int32(len(n.children.names))
	s := proto.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.creates - kids, Aversion: n.aversion,
		DataLength: int32(len(n.Data)), NumChildren: kids, Pzxid: n.pzxid,
	}
	if KindOf(n.owner) == Ephemeral {
		s.EphemeralOwner = n.owner
	}
	return s
}

// Kind returns the lifetime of the node.
func (n *Node) Kind() Kind { return KindOf(n.owner) }

// IsContainer tells whether the node is a container.
func (n *Node) IsContainer() bool { return n.Kind() == Container }

// IsTTL tells whether the node has a time to live.
func (n *Node) IsTTL() bool { return n.Kind() == TTL }

// Tree is the data tree and the table of sessions. A Tree is not safe for
// concurrent use.
type Tree struct {
	nodes      map[string]*Node
	ephemerals map[int64]map[string]bool
	reapable   map[string]bool // containers and TTL nodes
	sessions   map[int64]int32 // timeout in milliseconds
	quotas     map[string]bool // paths with a quota
	last       int64
}

// New returns a tree with the root and ZooKeeper's own nodes.
func New() *Tree {
	t := &Tree{
		nodes: map[string]*Node{}, ephemerals: map[int64]map[string]bool{},
		reapable: map[string]bool{}, sessions: map[int64]int32{}, quotas: map[string]bool{},
	}
	open := proto.WorldACL()
	t.nodes["/"] = &Node{ACL: open, Data: []byte{}}
	for _, p := range []string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		n := &Node{ACL: open, Data: []byte{}}
		if p == "/zookeeper/config" {
			n.ACL, n.aversion = []proto.ACL{{Perms: proto.PermRead, Scheme: "world", ID: "anyone"}}, -1
		}
		t.nodes[p] = n
		t.nodes[parentOrRoot(p)].children.add(baseName(p))
	}
	return t
}

// Get returns the node at path or nil. "" is the root, as in ZooKeeper.
func (t *Tree) Get(path string) *Node {
	if path == "" {
		path = "/"
	}
	return t.nodes[path]
}

// Children returns the names of n's children in no particular order, see kids.
// The list is valid until the next change, and not to be changed.
func (t *Tree) Children(n *Node) []string { return n.children.names }

// StartAt sets the zxid of a new tree, as if that many transactions had been applied before.
func (t *Tree) StartAt(zxid int64) { t.last = zxid }

// LastZxid returns the zxid of the last Txn applied.
func (t *Tree) LastZxid() int64 { return t.last }

// Count returns the number of nodes as reported by Apache's server, whose table
// has the root twice, as "/" and as "".
func (t *Tree) Count() int { return len(t.nodes) + 1 }

// DataSize returns the bytes of all paths and values.
func (t *Tree) DataSize() int {
	sum := 0
	for p, n := range t.nodes {
		sum += len(p) + len(n.Data)
	}
	return sum
}

// Paths returns every path, sorted.
func (t *Tree) Paths() []string {
	out := make([]string, 0, len(t.nodes))
	for p := range t.nodes {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// UserPaths returns every path but ZooKeeper's own, sorted.
func (t *Tree) UserPaths() []string {
	return slices.DeleteFunc(t.Paths(), func(p string) bool { return p == "/zookeeper" || strings.HasPrefix(p, "/zookeeper/") })
}

// SortedChildren returns the names of n's children, sorted.
func (t *Tree) SortedChildren(n *Node) []string {
	return slices.Sorted(slices.Values(n.children.names))
}

// CountBelow returns how many nodes are below path, itself not counted; "" is
// above the root.
func (t *Tree) CountBelow(path string) int {
	if path == "" {
		return len(t.nodes)
	}
	prefix, n := strings.TrimSuffix(path, "/")+"/", 0
	for p := range t.nodes {
		if p != "/" && strings.HasPrefix(p, prefix) {
			n++
		}
	}
	return n
}

// Ephemerals returns the session's ephemeral nodes, sorted.
func (t *Tree) Ephemerals(session int64) []string {
	out := make([]string, 0, len(t.ephemerals[session]))
	for p := range t.ephemerals[session] {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// EphemeralCount returns the number of ephemeral nodes of all sessions.
func (t *Tree) EphemeralCount() int {
	n := 0
	for _, m := range t.ephemerals {
		n += len(m)
	}
	return n
}

// Sessions returns a copy of the session table: id to timeout in milliseconds.
func (t *Tree) Sessions() map[int64]int32 {
	out := make(map[int64]int32, len(t.sessions))
	for id, timeout := range t.sessions {
		out[id] = timeout
	}
	return out
}

// SessionCount returns the number of sessions.
func (t *Tree) SessionCount() int { return len(t.sessions) }

// HasSession tells whether the session exists.
func (t *Tree) HasSession(id int64) bool { _, ok := t.sessions[id]; return ok }

// Reapable returns the containers without their last child and the TTL nodes
// expired at now (milliseconds since 1970), sorted. A container without any
// child so far stays.
func (t *Tree) Reapable(now int64) []string {
	var out []string
	for p := range t.reapable {
		n := t.nodes[p]
		if len(n.children.names) > 0 {
			continue
		}
		if n.Kind() == Container && n.creates > 0 || n.Kind() == TTL && now-n.mtime > n.owner&MaxTTL {
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return out
}

// Clone returns an independent copy.
func (t *Tree) Clone() *Tree {
	c := &Tree{
		nodes: make(map[string]*Node, len(t.nodes)), ephemerals: map[int64]map[string]bool{},
		reapable: map[string]bool{}, sessions: t.Sessions(), quotas: maps.Clone(t.quotas), last: t.last,
	}
	for p, n := range t.nodes {
		m := *n
		m.children = n.children.clone()
		c.nodes[p] = &m
	}
	for id, set := range t.ephemerals {
		c.ephemerals[id] = map[string]bool{}
		for p := range set {
			c.ephemerals[id][p] = true
		}
	}
	for p := range t.reapable {
		c.reapable[p] = true
	}
	return c
}
