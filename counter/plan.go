package counter

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/fifo"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// state is a counter's znode as a read, or a write of our own, has shown it.
type state struct {
	data    []byte
	version int32
	// node identifies the znode, and mzxid its state: neither ever comes again, as a
	// version does after a deletion or 2^32 changes. In an ensemble that was recreated
	// empty, an mzxid can come again, in another node.
	node  identity
	mzxid int64
}

// identity tells znodes under one path apart, also znodes of two ensembles, whose zxids
// can be the same.
type identity struct{ czxid, ctime int64 }

func stateOf(data []byte, stat session.Stat) state {
	return state{data: data, version: stat.Version, node: identity{stat.Czxid, stat.Ctime}, mzxid: stat.Mzxid}
}

// kind of a change.
type kind int

const (
	add       kind = iota // by
	set                   // to
	swap                  // from one value to another
	swapSeen              // from the state with one mzxid, of one node, to a value
	countDown             // a latch, unless its count is 0
	setCount              // of a latch whose count is 0, to
)

// op is a change awaited by a caller.
type op struct {
	kind kind
	// from is the value of swap and the mzxid of swapSeen; to is the new value,
	// or the addend.
	from, to int64
	// node is the node of swapSeen, zero if the caller does not know it.
	node identity
	// ctx is that of the caller.
	ctx context.Context
	// arrival is the op's number among the arrivals; see batcher.
	arrival uint64

	// sent, pending, answered, left and place are guarded by the batcher's mu. sent: the op
	// may have been carried out, or may still be. pending: the session ended over the op.
	// left, with an observer: the caller did not wait for the answer.
	sent, pending, answered, left bool
	place                         *fifo.Place // in the queue
	// out is written once, before done is closed.
	out  outcome
	done chan struct{}
}

// outcome of an op.
type outcome struct {
	value int64 // after the change
	ok    bool  // the change was made
	err   error
}

// plan is the effect of a batch of changes, one after the other, on a state: one write,
// or none.
type plan struct {
	ops      []*op
	outcomes []outcome
	writes   bool
	version  int32 // condition of the write, or anyVersion
	data     []byte
	// first to last are the reserved numbers; only for a Sequence.
	first, last int64
}

// makePlan has the effects of ops on now. A batch that begins with a set does
// not depend on now, except for stepping over version -1; see txn. If now's
// version is -1, no write can depend on now: the batch then ends before the
// first set, which begins the next batch.
func makePlan(f Format, now state, ops []*op) plan {
	p := plan{version: now.version}
	if ops[0].kind == set && now.version != anyVersion-1 {
		p.version = anyVersion
	}
	frozen := now.version == anyVersion && ops[0].kind != set
	value, broken := f.decode(now.data)
	for _, o := range ops {
		if frozen && o.kind == set {
			break
		}
		next, out := o.effect(f, now, value, broken)
		if out.ok && frozen {
			out = outcome{err: ErrVersion}
		}
		if out.ok {
			value, broken, p.writes = next, nil, true
			now.mzxid = -1 // states seen before are outdated
		}
		p.ops, p.outcomes = append(p.ops, o), append(p.outcomes, out)
	}
	if p.writes {
		p.data = f.encode(value)
	}
	return p
}

// resolve makes the plan settle the open outcome of an earlier write that depended on
// now's version: the plan then always writes, and depends on the same version.
// Without this condition, a set would be made twice if the earlier write, with
// the same set, is still to come. And a failing swap, whose preceding change in
// the earlier batch was withdrawn, could succeed with the earlier batch.
func (p *plan) resolve(now state) {
	p.version = now.version
	if !p.writes {
		p.writes, p.data = true, now.data
	}
}

// effect returns the outcome of o on a value, or on broken data. now is the state before
// the first change of the batch, without an mzxid behind a change.
func (o *op) effect(f Format, now state, value int64, broken error) (int64, outcome) {
	switch {
	case o.kind == swapSeen && (o.from != now.mzxid || o.node != now.node && o.node != identity{}):
		return 0, outcome{value: value}
	case o.kind == set, o.kind == swapSeen:
		return o.to, outcome{value: o.to, ok: true}
	case broken != nil:
		return 0, outcome{err: broken}
	case o.kind == countDown, o.kind == setCount:
		return o.latchEffect(value)
	case o.kind == swap && o.from != value:
		return 0, outcome{value: value}
	case o.kind == swap:
		return o.to, outcome{value: o.to, ok: true}
	}
	sum, err := f.add(value, o.to)
	if err != nil {
		return 0, outcome{err: err}
	}
	return sum, outcome{value: sum, ok: true}
}

// latchEffect is effect for the number of a latch.
func (o *op) latchEffect(value int64) (int64, outcome) {
	round, count, err := splitLatch(value)
	switch {
	case err != nil:
		return 0, outcome{err: err}
	case o.kind == countDown && count == 0, o.kind == setCount && count > 0:
		return 0, outcome{value: value}
	case o.kind == countDown:
		count--
	default:
		round, count = counterformat.NextRound(round), int32(o.to)
	}
	value = counterformat.JoinLatch(round, count)
	return value, outcome{value: value, ok: true}
}

// txn returns the plan's write: of the counter, and of the marker, which tells
// later whether the write was carried out.
func (p *plan) txn(path, marker string) []session.Op {
	ops := []session.Op{session.SetOp(path, p.data, p.version)}
	if p.version == anyVersion-1 {
		// The version would become -1, and the next write could not depend on it.
		// No other write comes between the operations of the transaction.
		ops = append(ops, session.SetOp(path, p.data, anyVersion))
	}
	return append(ops, session.SetOp(marker, nil, anyVersion))
}
