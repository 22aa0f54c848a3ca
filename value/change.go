package value

import (
	"bytes"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
)

// kind of a change.
type kind int

const (
	set      kind = iota // to
	swap                 // from some bytes to others
	swapSeen             // from the state seen, to
	update               // to the result of compute
)

// change is a change of the bytes, which the change owns.
type change struct {
	kind     kind
	from, to []byte
	seen     State
	seed     []byte // the data of a missing znode; for swapSeen
	compute  func(data []byte) ([]byte, error)
}

// outcome of a change; its Value is the new bytes, for an update.
type outcome = batchwrite.Outcome[[]byte]

// effect of a change.
type effect = batchwrite.Effect[[]byte]

// Blind implements batchwrite.Change.
func (c *change) Blind() bool { return c.kind == set }

// Effect implements batchwrite.Change.
func (c *change) Effect(now batchwrite.State) effect {
	switch {
	case c.kind == update:
		return c.update(now)
	case c.kind == swap && !bytes.Equal(now.Data, c.from), c.kind == swapSeen && !c.hasSeen(now):
		return effect{}
	}
	return effect{Outcome: outcome{OK: true}, Data: c.to}
}

// hasSeen reports whether now is the seen state. A znode that a change has created, and no
// client has set, is in the state of a missing znode.
func (c *change) hasSeen(now batchwrite.State) bool {
	if c.seen.Zxid == 0 {
		return now.Mzxid == now.Node.Czxid && bytes.Equal(now.Data, c.seed)
	}
	return now.Is(c.seen.Zxid, c.seen.node)
}

func (c *change) update(now batchwrite.State) (e effect) {
	e.Value, e.Err = c.compute(slices.Clone(now.Data))
	e.Declined = e.Err != nil
	if e.Err == nil && !bytes.Equal(e.Value, now.Data) {
		e.OK, e.Data = true, slices.Clone(e.Value)
	}
	return e
}
