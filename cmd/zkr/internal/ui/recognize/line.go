package recognize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Line is the queue of a mutex, an election or a read/write lock without serious problems that
// is followed contender by contender: in a long history nearly all changes are of this kind, and
// the recognition of the whole queue for each takes ten times as long. A Line tells what
// recognition tells of the queue, or refuses a change. Its owner then lets the queue be
// recognized (Recognizer.Late).
type Line struct {
	thing *Thing // its kind and path
	marks []string
	queue []*Contender // in the order of their numbers
	// makers are the contenders by the protection id in their names, if there is one.
	makers map[maker]bool
}

// maker identifies an attempt to enter a queue: two contenders of one maker are an orphan.
type maker struct {
	id      string
	session SessionID
}

func makerOf(name string, session SessionID) maker { return maker{protectionID(name), session} }

// lineMarkers are the markers that the contenders of a Line may have together.
//
// read only
var lineMarkers = [][]string{
	{lockformat.CuratorMutex}, {lockformat.KazooLock}, {lockformat.CuratorLatch}, {lockformat.CuratorRead, lockformat.CuratorWrite},
}

// LineOf makes a Line of a thing of this world; nil if more than its contenders may change
// the thing, or if the thing may matter for another one.
func (w *World) LineOf(t *Thing) *Line {
	if t.Kind != Mutex && t.Kind != Election && t.Kind != RWLock || len(t.Queue) == 0 || t.Strangers > 0 ||
		slices.ContainsFunc(t.Problems, func(p Problem) bool { return p.Level.IsSerious() }) {
		return nil
	}
	s := w.aloneAt(t)
	if s == nil {
		return nil
	}
	first, _ := findMarker(znode.Base(t.Queue[0].Path))
	i := slices.IndexFunc(lineMarkers, func(marks []string) bool { return slices.Contains(marks, first) })
	if i < 0 || (t.Kind == RWLock) != (len(lineMarkers[i]) == 2) {
		return nil
	}
	l := &Line{thing: &Thing{Kind: t.Kind, Path: t.Path}, marks: lineMarkers[i], makers: map[maker]bool{}}
	for _, c := range t.Queue {
		contender := s.child(znode.Base(c.Path))
		if contender == nil {
			return nil
		}
		mine := l.Enter(contender.Node)
		if mine == nil || mine.Holds != c.Holds {
			return nil
		}
	}
	return l
}

// aloneAt finds the spot of a thing, if its recognition depends on the spot and its children
// alone, and no node above depends on these.
func (w *World) aloneAt(t *Thing) *spot {
	s := w.top
	for rest := t.Path[1:]; rest != ""; {
		if s == nil || !s.plain || looksDeeper(s) {
			return nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		for _, suffix := range suffixes {
			if rest == "" && s.child(name+suffix) != nil {
				return nil
			}
		}
		s = s.child(name)
	}
	return s
}

// Thing has the kind and the path.
func (l *Line) Thing() *Thing { return l.thing }

// Enter adds a new contender at the end of the queue; nil if the node may be another thing, or
// may have another place.
func (l *Line) Enter(n *Node) *Contender {
	name := n.Name()
	mark, before := findMarker(name)
	if n.Denied || !n.ephemeral() || !slices.Contains(l.marks, mark) || !isExactName(mark, before) {
		return nil
	}
	// A priority moves a candidate, and an id of go-zookeeper's tells a mutex from an election.
	if rest, _ := lockformat.CutRank(before); rest != before || mark != lockformat.KazooLock && len(protectionID(before)) == hexDigits {
		return nil
	}
	if d := string(n.Data); d == lockformat.RevokeData || d == ownData {
		return nil
	}
	seq, err := znode.Sequence(name)
	last := int32(-1)
	if len(l.queue) > 0 {
		last = l.queue[len(l.queue)-1].Seq
	}
	if err != nil || seq <= last || seq >= session.SequenceWarning {
		return nil
	}
	by := makerOf(name, SessionID(n.Stat.EphemeralOwner))
	if l.makers[by] {
		return nil
	}
	if by.id != "" {
		l.makers[by] = true
	}
	c := &Contender{Path: n.Path, ID: idIn(n), Seq: seq, Session: by.session, Token: n.Stat.Czxid, Entered: n.Created()}
	switch mark {
	case lockformat.CuratorRead:
		c.Role = "read"
	case lockformat.CuratorWrite:
		c.Role = "write"
	}
	l.queue = append(l.queue, c)
	c.Holds = l.holders() == len(l.queue)
	return c
}

// holders is how many at the head of the queue hold.
func (l *Line) holders() int {
	n := slices.IndexFunc(l.queue, func(c *Contender) bool { return c.Role != "read" })
	if n < 0 {
		n = len(l.queue)
	}
	return max(n, min(1, len(l.queue)))
}

// Has reports whether a node is a contender of the queue.
func (l *Line) Has(path string) bool { return l.find(path) >= 0 }

// find finds a contender; -1 if there is none.
func (l *Line) find(path string) int {
	seq, err := znode.Sequence(znode.Base(path))
	if err != nil {
		return -1
	}
	i, is := slices.BinarySearchFunc(l.queue, seq, func(c *Contender, seq int32) int { return cmp.Compare(c.Seq, seq) })
	if !is || l.queue[i].Path != path {
		return -1
	}
	return i
}

// Leave removes a contender. Others may hold after the next Grant.
func (l *Line) Leave(path string) {
	i := l.find(path)
	delete(l.makers, makerOf(znode.Base(path), l.queue[i].Session))
	l.queue = slices.Delete(l.queue, i, i+1)
}

// Grant returns the contenders that hold from now on.
func (l *Line) Grant() (granted []*Contender) {
	for _, c := range l.queue[:l.holders()] {
		if !c.Holds {
			c.Holds = true
			granted = append(granted, c)
		}
	}
	return granted
}

// FamilyOf is the path of the family of a node: of the nodes that are recognized together.
func FamilyOf(path string) string {
	if path == "/" {
		return path
	}
	return znode.Join(znode.Parent(path), baseName(znode.Base(path)))
}
