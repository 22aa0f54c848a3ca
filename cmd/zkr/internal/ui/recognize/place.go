package recognize

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// markChanged marks the family to recognize again after a change: the family of the
// highest ancestor that is not plain, or of the changed node itself.
func (u *revision) markChanged(path string) {
	s, at := u.old, "/"
	if s == nil {
		u.families["/"] = true
		return
	}
	for s.plain && at != path {
		rest := path[len(at):]
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		child := childPath(at, name)
		u.touchParent(s, at, child, path)
		if s = s.child(name); s == nil || baseName(name) != name {
			u.markFamily(child) // the nodes beside the child depend on it
			return
		}
		at = child
	}
	if s.plain && len(s.children) > 0 && u.isSameNode(s, path) {
		u.probes[path] = true
		return
	}
	u.markFamily(at)
}

// isSameNode reports whether a node is the same as before, with other data.
func (u *revision) isSameNode(s *spot, path string) bool {
	fresh := u.top.find(path)
	return fresh != nil && len(fresh.children) > 0 && !s.ghost && isSuccessor(s.Node, fresh.Node)
}

// isSuccessor reports whether n is another version of the node old.
func isSuccessor(old, n *Node) bool {
	return old.Stat.Czxid == n.Stat.Czxid && old.Stat.EphemeralOwner == n.Stat.EphemeralOwner && old.Denied == n.Denied
}

// markWithin marks the family of a node, to be recognized again.
func (u *revision) markWithin(path string) {
	s, at := u.old, "/"
	for s != nil && s.plain && at != path {
		name, _, _ := strings.Cut(strings.TrimPrefix(path[len(at):], "/"), "/")
		s, at = s.child(name), childPath(at, name)
	}
	u.markFamily(at)
}

// markFamily marks the family of a node to be recognized again.
func (u *revision) markFamily(path string) {
	if path != "/" {
		path = childPath(parentPath(path), baseName(path[strings.LastIndexByte(path, '/')+1:]))
	}
	u.families[path] = true
}

// touchParent finds out whether a plain node may be no longer plain because of a change at
// or below a child.
func (u *revision) touchParent(s *spot, at, child, path string) {
	old, fresh := u.old.find(child), u.top.find(child)
	if path == child && concernsParent(old, fresh) || looksDeeper(s) || looksDeeper(u.top.at(at)) {
		u.probes[at] = true
	}
	// Numbers beside counters are counters.
	if s.formats != nil && (path == child || counterformat.IsMark(znode.Base(path))) && old.counterFormat() != fresh.counterFormat() {
		u.markFamily(at)
	}
}

// concernsParent reports whether a change of a child matters for the recognition of
// its parent: a change of existence, name or owner, or of data by which parents
// of persistent nodes are recognized.
func concernsParent(old, fresh *spot) bool {
	if old == nil || fresh == nil || !isSuccessor(old.Node, fresh.Node) || !fresh.persistent() || counterformat.IsMark(fresh.name) {
		return true
	}
	return slices.ContainsFunc([]*spot{old, fresh}, func(s *spot) bool {
		d := s.Data
		return len(d) > 0 && (d[0] == '{' || d[0] == '[' || bytes.HasPrefix(d, []byte(packed)))
	})
}

// looksDeeper reports whether a node may be recognized by nodes below its children.
func looksDeeper(s *spot) bool {
	return s != nil && (s.child(lockformat.DirLeases) != nil || s.child(dirEntries) != nil || s.child(nodeReady) != nil)
}

// probePlain tries to recognize plain nodes again, and marks the families of
// recognized nodes. The result itself changes nothing before the family is
// recognized again: no node is open.
func (u *revision) probePlain() {
	for _, path := range slices.Sorted(maps.Keys(u.probes)) {
		s := u.top.find(path)
		if s != nil && !u.families[path] && u.recognizeNode(s) != nil {
			u.markFamily(path)
		}
	}
}
