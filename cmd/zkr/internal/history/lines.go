package history

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// lines are the queues whose contenders come and go without a recognition of the queue. The
// recognizer gets the changes of a line late: when it recognizes what may depend on them.
type lines struct {
	r   *Reader
	all map[string]*line // by the path of the queue
	// within are the paths of the queues in each family, and below it.
	within map[string]map[string]bool
	// off: each transaction is recognized.
	off bool
	// now is the time of the last change.
	now time.Time
	// told is the number of transactions without a recognition.
	told int
}

// line is a queue, with the changes that the recognizer has not got.
type line struct {
	*recognize.Line
	late map[string]*recognize.Node
	// known are the contenders in late that the recognizer knows: they left, and may have come
	// again under the same name.
	known map[string]bool
}

func newLines(r *Reader) *lines {
	return &lines{r: r, all: map[string]*line{}, within: map[string]map[string]bool{}}
}

// follow makes a line of each thing that can be one.
func (l *lines) follow(d recognize.Delta) {
	if l.off {
		return
	}
	for _, t := range d.Come {
		if of := d.LineOf(t); of != nil {
			l.all[t.Path] = &line{of, map[string]*recognize.Node{}, map[string]bool{}}
			for family := range familiesAbove(t.Path) {
				if l.within[family] == nil {
					l.within[family] = map[string]bool{}
				}
				l.within[family][t.Path] = true
			}
		}
	}
}

// familiesAbove are the families in which a node is, or above it.
func familiesAbove(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(recognize.FamilyOf(path)) && path != "/" {
			path = znode.Parent(path)
		}
	}
}

// take gives the lines in a family and below it up, and returns their late changes.
func (l *lines) take(family string) map[string]*recognize.Node {
	var late map[string]*recognize.Node
	for path := range maps.Clone(l.within[family]) {
		if q := l.all[path]; late == nil {
			late = q.late
		} else {
			maps.Copy(late, q.late)
		}
		delete(l.all, path)
		for family := range familiesAbove(path) {
			if delete(l.within[family], path); len(l.within[family]) == 0 {
				delete(l.within, family)
			}
		}
	}
	return late
}

// settle gives the lines up in which a transaction changes contenders: the recognizer gets their
// late changes before those of the transaction, which may cancel them out.
func (l *lines) settle(changed map[string]*recognize.Node) {
	for path := range changed {
		q := l.all[znode.Parent(path)]
		if q == nil {
			continue
		}
		if late := l.take(recognize.FamilyOf(q.Thing().Path)); len(late) > 0 {
			l.r.know.Update(late, recognize.Past{}, l.now) // nothing is due, and the stays are up to date
		}
	}
}

// apply takes a transaction that adds a single contender to a line, or removes contenders from
// lines, and changes nothing else. It reports whether the transaction is one.
func (l *lines) apply(changed map[string]*recognize.Node, at Moment, txn *txnlog.Txn) bool {
	for path, n := range changed {
		q := l.all[znode.Parent(path)]
		switch {
		case q == nil:
			return false
		case n != nil && len(changed) == 1:
			return l.enter(q, n, at, txn)
		case n != nil || !q.Has(path):
			return false
		}
	}
	l.leave(changed, at, txn)
	l.told++
	return true
}

func (l *lines) enter(q *line, n *recognize.Node, at Moment, txn *txnlog.Txn) bool {
	c := q.Enter(n)
	if c == nil {
		return false
	}
	q.late[n.Path] = n
	l.arrive(q, c, at, txn)
	l.told++
	return true
}

// leave removes contenders from lines. All of them end before others are granted.
func (l *lines) leave(changed map[string]*recognize.Node, at Moment, txn *txnlog.Txn) {
	var left []place
	for path := range changed {
		left = append(left, place{thing: znode.Parent(path), znode: path})
	}
	slices.SortFunc(left, comparePlaces)
	for _, p := range left {
		l.r.stays.end(p, at, txn)
		q := l.all[p.thing]
		q.Leave(p.znode)
		if q.late[p.znode] != nil && !q.known[p.znode] {
			delete(q.late, p.znode) // it has come and gone
		} else {
			q.late[p.znode], q.known[p.znode] = nil, true
		}
	}
	for i, p := range left { // in the order of the things
		if i > 0 && left[i-1].thing == p.thing {
			continue
		}
		q := l.all[p.thing]
		for _, c := range q.Grant() {
			l.arrive(q, c, at, txn)
		}
	}
}

func (l *lines) arrive(q *line, c *recognize.Contender, at Moment, txn *txnlog.Txn) {
	t := q.Thing()
	l.r.stays.arrive(place{thing: t.Path, znode: c.Path}, contenderPart(t.Kind, c), t, l.r.tree, at, txn)
}
