package counter

import (
	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
)

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

// op is a change of a number in format.
type op struct {
	kind   kind
	format Format
	// from is the value of swap and the mzxid of swapSeen; to is the new value,
	// or the addend.
	from, to int64
	// node is the node of swapSeen, zero if the caller does not know it.
	node batchwrite.Identity
}

// outcome of an op; its Value is the number after the change.
type outcome = batchwrite.Outcome[int64]

// Blind implements batchwrite.Change.
func (o *op) Blind() bool { return o.kind == set }

// Effect implements batchwrite.Change.
func (o *op) Effect(now batchwrite.State) (e batchwrite.Effect[int64]) {
	value, broken := o.format.decode(now.Data)
	if e.Outcome = o.outcome(now, value, broken); e.OK {
		e.Data = o.format.encode(e.Value)
	}
	return e
}

// outcome returns the outcome of o on a value, or on broken data, which now has.
func (o *op) outcome(now batchwrite.State, value int64, broken error) outcome {
	switch {
	case o.kind == swapSeen && !now.Is(o.from, o.node):
		return outcome{Value: value}
	case o.kind == set, o.kind == swapSeen:
		return outcome{Value: o.to, OK: true}
	case broken != nil:
		return outcome{Err: broken}
	case o.kind == countDown, o.kind == setCount:
		return o.latchOutcome(value)
	case o.kind == swap && o.from != value:
		return outcome{Value: value}
	case o.kind == swap:
		return outcome{Value: o.to, OK: true}
	}
	sum, err := o.format.add(value, o.to)
	if err != nil {
		return outcome{Err: err}
	}
	return outcome{Value: sum, OK: true}
}

// latchOutcome is outcome for the number of a latch.
func (o *op) latchOutcome(value int64) outcome {
	round, count, err := splitLatch(value)
	switch {
	case err != nil:
		return outcome{Err: err}
	case o.kind == countDown && count == 0, o.kind == setCount && count > 0:
		return outcome{Value: value}
	case o.kind == countDown:
		count--
	default:
		round, count = counterformat.NextRound(round), int32(o.to)
	}
	return outcome{Value: counterformat.JoinLatch(round, count), OK: true}
}
