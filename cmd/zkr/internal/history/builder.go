package history

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

const (
	// recentEvents are kept with each checkpoint.
	recentEvents = 20
	// maxRemarks is how many findings are kept.
	maxRemarks = 1000
)

// builder makes the checkpoints of an Archive while a Reader reads all transactions.
type builder struct {
	count
	bounds bounds // its span grows
	begun  bool
	shared bool // by several servers
	// all are the checkpoints. The last one is being made, and is no state yet.
	all []*checkpoint
	// nodes and open are the reader's.
	nodes map[string]*recognize.Node
	open  map[place]*Stay

	trail   trail
	remarks []Remark
	omitted int // remarks
}

// options are those of the reader that reads for the builder.
func (b *builder) options() *Options {
	return &Options{
		Began: func(s *Stay) {
			if !s.Has() {
				b.note(Came, s)
			}
			b.keep(s, true)
		},
		Granted: func(s *Stay) {
			b.note(Granted, s)
			b.keep(s, false)
		},
		Ended: func(s *Stay) {
			b.note(Ended, s)
			b.making().made.open.put(s.place(), nil, false)
		},
		Report: b.remark,
		steps:  b,
	}
}

func (b *builder) remark(f txnlog.Finding) {
	if len(b.remarks) == maxRemarks {
		b.omitted++
		return
	}
	r := Remark{Finding: f, Mark: b.mark(), At: b.at.Time, n: b.n, recorded: b.recorded, shared: b.shared}
	if !b.begun {
		r.n = -1
	}
	b.remarks = append(b.remarks, r)
}

// keep notes that a stay lasts. fresh: it has begun. The reader changes it later: cut packs it.
func (b *builder) keep(s *Stay, fresh bool) { b.making().made.open.put(s.place(), s, fresh) }

// described notes that a stay has changed.
func (b *builder) described(s *Stay) { b.keep(s, false) }

// note notes an event. The stays of the first state began before.
func (b *builder) note(kind EventKind, s *Stay) {
	if !b.begun {
		return
	}
	e := b.event(kind, s)
	b.trail.add(e)
	if here := b.here(); here.first == nil || e.replaces(here.first) {
		first := e
		here.first = &first
	}
	if len(b.trail.events) >= 4*recentEvents {
		b.trail.forget(recentEvents)
	}
}

// here is the checkpoint whose span is being read.
func (b *builder) here() *checkpoint { return b.all[len(b.all)-2] }

// making is the checkpoint that is being made.
func (b *builder) making() *checkpoint { return b.all[len(b.all)-1] }

// begin takes the first state.
func (b *builder) begin(at Moment, nodes map[string]*recognize.Node, open map[place]*Stay) {
	b.begun, b.at, b.nodes, b.open = true, at, nodes, open
	b.cut(spot{})
}

// sinceWhole is the number of changes since the last whole checkpoint; those that a checkpoint has
// are unpacked to find a state.
func (b *builder) sinceWhole() (sum int) {
	for i := len(b.all) - 2; i >= 0 && !b.all[i].whole; i-- {
		sum += b.all[i].entries
	}
	return sum + b.making().made.len()
}

// cut completes the checkpoint that is being made, and begins the next one.
func (b *builder) cut(next spot) {
	c := b.making()
	if whole := len(b.nodes) + len(b.open); len(b.all) == 1 || b.sinceWhole() >= whole {
		made := changesFromNothing(b.nodes, b.open)
		c.made, c.whole = &made, true
	}
	c.pack()
	c.count, c.recent, c.begin, c.last, c.latest = b.count, b.trail.cut(recentEvents), next, b.at.Zxid, b.at.Time
	if len(b.all) > 1 && b.here().latest.After(c.latest) {
		c.latest = b.here().latest
	}
	rest, times := b.bounds.thin(append(b.all, newCheckpoint()))
	b.all = rest
	b.bounds.span <<= times
}

func newCheckpoint() *checkpoint {
	made := newChanges()
	return &checkpoint{made: &made}
}

// before cuts between transactions of different times.
func (b *builder) before(txn *txnlog.Txn) bool {
	here := b.here()
	next := spot{txn.Zxid, txn.At}
	if here.begin == (spot{}) {
		here.begin = next
	} else if b.n-here.n >= b.bounds.span && !txn.Time.Equal(b.at.Time) {
		b.cut(next)
		here = b.here()
	}
	b.next(txn)
	here.last = txn.Zxid
	if txn.Time.After(here.latest) {
		here.latest = txn.Time
	}
	return true
}

// after takes the changed znodes.
func (b *builder) after(changed map[string]*recognize.Node, fresh map[string]bool) {
	nodes := b.making().made.nodes
	for path, n := range changed {
		nodes.put(path, n, fresh[path])
	}
}

// finish returns the checkpoints, without the one that is being made.
func (b *builder) finish() []*checkpoint { return slices.Clone(b.all[:len(b.all)-1]) }
