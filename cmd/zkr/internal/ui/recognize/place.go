package recognize

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
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
		child := znode.Join(at, name)
		u.touchParent(s, at, child, path)
		if s = s.child(name); s == nil || baseName(name) != name {
			u.markFamily(child) // the nodes beside the child depend on it
			return
		}
		at = child
	}
	if s.plain && s.children.size() > 0 && u.isSameNode(s, path) {
		u.probes[path] = true
		return
	}
	u.markFamily(at)
}

// isSameNode reports whether a node is the same as before, with other data.
func (u *revision) isSameNode(s *spot, path string) bool {
	fresh := u.top.find(path)
	return fresh != nil && fresh.children.size() > 0 && !s.ghost && isSuccessor(s.Node, fresh.Node)
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
		s, at = s.child(name), znode.Join(at, name)
	}
	u.markFamily(at)
}

// markFamily marks the family of a node to be recognized again.
func (u *revision) markFamily(path string) {
	u.families[FamilyOf(path)] = true
}

// touchParent finds out whether a plain node may be no longer plain because of a change at
// or below a child.
func (u *revision) touchParent(s *spot, at, child, path string) {
	old, fresh := u.old.find(child), u.top.find(child)
	now := u.top.at(at)
	if path == child && concernsParent(old, fresh) && !isOneOfMany(now, old, fresh) || looksDeeper(s) || looksDeeper(now) {
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
	if old == nil || fresh == nil || !isSuccessor(old.Node, fresh.Node) || !fresh.persistent() || counterformat.IsMark(fresh.name) || heartbeatformat.IsName(fresh.name) {
		return true
	}
	return slices.ContainsFunc([]*spot{old, fresh}, func(s *spot) bool {
		d := s.Data
		return len(d) > 0 && (d[0] == '{' || d[0] == '[' || bytes.HasPrefix(d, []byte(packed)))
	})
}

// isOneOfMany reports whether a change of a child cannot matter for the recognition of its plain
// parent: the child is and was dull, and the parent still has such children. They can only stand
// in the way of recognition, and one does so as well as many. Folders of locks have many, and a
// look at all of them for each would take long.
func isOneOfMany(parent, was, is *spot) bool {
	return parent != nil && parent.dull > 0 && !parent.mayBeJob() && (was == nil || was.isDull()) && (is == nil || is.isDull())
}

// isDull reports whether a node says nothing about its parent, except that not all children
// are of another kind: it lasts, has no data, and a name by which nothing is recognized.
func (s *spot) isDull() bool {
	return s != nil && !s.ghost && s.persistent() && s.Size == 0 && !isTelling(s.name)
}

// isTelling reports whether a parent that is no job may be recognized by the name of a persistent
// child without data: by a number or a UUID as of a contender, a lease or an entry, by a server of
// shared heartbeats, or as a folder of a task queue or a rebalancer. The other folders that tell are those of looksDeeper.
func isTelling(name string) bool {
	for width := digits; width <= digits+1; width++ {
		if _, ok := cutNumber(name, width); ok {
			return true
		}
	}
	switch name {
	case taskformat.DirTasks, shareformat.DirResources, shareformat.DirAssignments:
		return true
	}
	return leaseName.MatchString(name) || heartbeatformat.IsName(name)
}

// looksDeeper reports whether a node may be recognized by nodes below its children.
func looksDeeper(s *spot) bool {
	return s != nil && (s.mayBeJob() || s.child(lockformat.DirLeases) != nil || s.child(dirEntries) != nil || s.child(nodeReady) != nil)
}

// probePlain tries to recognize plain nodes again, and marks the families of
// recognized nodes. The result itself changes nothing before the family is
// recognized again: no node is open. It reports whether there are any.
func (u *revision) probePlain() (marked bool) {
	for _, path := range slices.Sorted(maps.Keys(u.probes)) {
		s := u.top.find(path)
		if s != nil && !u.families[path] && u.recognizeNode(s) != nil {
			u.markFamily(path)
			marked = true
		}
	}
	clear(u.probes)
	return marked
}
