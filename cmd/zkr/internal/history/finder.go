package history

import (
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// finder finds the state of a mark while a Reader reads the transactions of a span.
type finder struct {
	count
	wanted Mark
	of     *archived
	span   int   // the index of its checkpoint
	until  int64 // the last transaction of the span
	reader *Reader
	// full recognizes all of the znodes, and changes are those that it does not know.
	full    *recognize.Recognizer
	changes map[string]*recognize.Node

	changed bool // the files are not as they were
	trail   trail
	state   *State // when it was found
}

func (r *archived) finder(m Mark) *finder {
	i := spanOf(r.checkpoints, m)
	f := &finder{count: r.checkpoints[i].count, wanted: m, of: r, span: i, until: r.end}
	if f.trail = f.from().recent.cut(recentEvents); i+1 < len(r.checkpoints) {
		f.until = r.checkpoints[i+1].n
	}
	return f
}

// from is the checkpoint.
func (f *finder) from() *checkpoint { return f.of.checkpoints[f.span] }

// restore makes the reader continue from the checkpoint.
func (f *finder) restore() {
	r := f.reader
	nodes, open := restore(f.of.checkpoints, f.span)
	r.tree.adopt(nodes)
	r.stays.adopt(open)
	r.began, r.sum.Last = true, f.at
	// The reader needs the things alone, and recognizes from the same world on.
	f.full, f.changes = &recognize.Recognizer{}, map[string]*recognize.Node{}
	f.recognize(func(past recognize.Past) recognize.Delta {
		return f.full.Replace(withoutServers(nodes), past, f.at.Time)
	})
	r.know = *f.full.Fork()
	r.know.OnlyThings, r.know.Late = true, r.lines.take
}

// options are those of the reader.
func (f *finder) options() *Options {
	return &Options{
		Began: func(s *Stay) {
			if !s.Has() {
				f.note(Came, s)
			}
		},
		Granted: func(s *Stay) { f.note(Granted, s) },
		Ended:   func(s *Stay) { f.note(Ended, s) },
		steps:   f,
	}
}

func (f *finder) note(kind EventKind, s *Stay) { f.trail.add(f.event(kind, s)) }

// described does nothing: the reader has the stays.
func (f *finder) described(*Stay) {}

// begin is not called: the first state of a span is known.
func (f *finder) begin(Moment, map[string]*recognize.Node, map[place]*Stay) {}

// before looks whether the state is the one before a transaction.
func (f *finder) before(txn *txnlog.Txn) bool {
	if f.n == f.from().n && txn.Zxid != f.from().begin.zxid {
		f.changed = true
	}
	if f.changed || f.n == f.until {
		return false
	}
	if f.state == nil && f.wanted.isBefore(Moment{txn.Time, txn.Zxid}, f.place(txn)) {
		f.capture()
	}
	if f.isFull() {
		return false
	}
	f.next(txn)
	return true
}

func (f *finder) after(changed map[string]*recognize.Node, _ map[string]bool) {
	if f.state == nil {
		maps.Copy(f.changes, changed)
	}
}

// isFull reports whether the state and enough of the next events are known.
func (f *finder) isFull() bool {
	return f.state != nil && len(f.trail.events)-f.state.Next >= recentEvents
}

// finish completes the state when the reader has ended.
func (f *finder) finish() error {
	if f.changed || f.n < f.until && !f.isFull() {
		return fmt.Errorf("history: %w", ErrChanged)
	}
	if f.state == nil {
		f.capture()
	}
	for _, c := range f.of.checkpoints[f.span+1:] {
		if len(f.trail.events) == f.state.Next && c.first != nil {
			f.trail.add(*c.first)
		}
	}
	f.state.Events = f.trail.events
	return nil
}

// capture makes the state after the last transaction.
func (f *finder) capture() {
	f.trail = f.trail.cut(recentEvents)
	s, o := &State{Mark: f.mark(), At: f.at, Now: f.at.Time, Previous: f.trail.previous(f.n), Next: len(f.trail.events)}, &f.of.overview
	if f.wanted.Time.IsZero() {
		s.Early, s.Late = f.wanted.Zxid < o.FirstMark.Zxid, f.wanted.Zxid > o.LastMark.Zxid
	} else {
		s.Early, s.Late = f.wanted.Time.Before(o.Earliest), f.wanted.Time.After(o.Latest)
		s.Now = later(s.Now, f.wanted.Time)
	}
	if s.Late {
		s.Now = later(s.At.Time, o.Latest)
	}
	if s.Now.IsZero() {
		s.Now = newest(f.reader.tree.nodes)
	}
	for i := range o.Remarks {
		switch rem := &o.Remarks[i]; {
		case rem.hides(s.Now):
			s.Unseen = rem
		case rem.casts(f.n):
			s.Doubts = append(s.Doubts, *rem)
		}
	}
	s.World = f.recognize(func(past recognize.Past) recognize.Delta {
		maps.DeleteFunc(f.changes, func(path string, _ *recognize.Node) bool { return isServers(path) })
		return f.full.Update(f.changes, past, s.Now)
	})
	f.state = s
}

// recognize makes the world of the present znodes, with the beginnings of the holds.
func (f *finder) recognize(update func(recognize.Past) recognize.Delta) *recognize.World {
	past := recognize.Past{Began: f.of.overview.Earliest, Holds: map[recognize.Tenure]time.Time{}}
	unsure := map[recognize.Tenure]bool{}
	for _, s := range f.reader.stays.open {
		if t := (recognize.Tenure{Path: s.Znode, Token: s.Token}); s.Has() {
			past.Holds[t] = past.Began
			if s.Granted != nil {
				past.Holds[t] = s.Granted.Time
			}
			unsure[t] = s.Before || s.GrantedAfter != nil
		}
	}
	d := update(past)
	for _, t := range d.Come { // in no other world yet
		for _, c := range t.Holders() {
			if unsure[c.Tenure()] && c.Since.Equal(past.Holds[c.Tenure()]) {
				c.Since, c.AtLeast = time.Time{}, c.Since
			}
		}
	}
	return d.World
}

// newest is the time of the newest change that znodes know of.
func newest(nodes map[string]*recognize.Node) (at time.Time) {
	for _, n := range nodes {
		at = later(at, later(n.Created(), n.Modified()))
	}
	return at
}

// isServers reports whether a znode belongs to the servers themselves: it has no recipes.
func isServers(path string) bool {
	return path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/")
}

// withoutServers leaves out the znodes of the servers themselves.
func withoutServers(nodes map[string]*recognize.Node) iter.Seq[*recognize.Node] {
	return func(yield func(*recognize.Node) bool) {
		for path, n := range nodes {
			if !isServers(path) && !yield(n) {
				return
			}
		}
	}
}
