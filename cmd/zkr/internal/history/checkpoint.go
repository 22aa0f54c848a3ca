package history

import (
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// checkpoint is a state of an Archive from which later states are found, by reading the
// transactions between it and the next checkpoint: its span.
type checkpoint struct {
	count
	// packed are the changes since the checkpoint before, or, if whole, the whole state; entries is
	// their number.
	packed  []byte
	whole   bool
	entries int
	// made are the changes of a checkpoint that is being made: those from the one before, or the
	// whole state.
	made *changes
	// recent are the last events up to the checkpoint, first is the first one of its span.
	recent trail
	first  *Event
	// begin is the first transaction of the span, and last its last zxid, or the checkpoint's.
	begin spot
	last  txnlog.Zxid
	// latest is the greatest time of the files up to the end of the span: clocks may go back.
	latest time.Time
}

// spot is where a transaction is found again: by its zxid in logs, and by its place in recordings.
type spot struct {
	zxid txnlog.Zxid
	at   txnlog.Position
}

// eventSize is about twice the memory of an event with its texts.
const eventSize = 1000

// size is the memory of a checkpoint.
func (c *checkpoint) size() int64 {
	return int64(len(c.packed)) + int64(len(c.recent.events)+1)*eventSize
}

// pack packs what was made.
func (c *checkpoint) pack() {
	c.packed, c.entries, c.made = c.made.pack(), c.made.len(), nil
}

// changes are those of a checkpoint.
func (c *checkpoint) changes() changes {
	if c.made != nil {
		return *c.made
	}
	return unpack(c.packed)
}

// has reports whether the mark's state is before the end of the span.
func (c *checkpoint) has(m Mark) bool {
	if m.Time.IsZero() {
		return c.last > m.Zxid
	}
	return c.latest.After(m.Time) || m.Nth != AllOfThem && c.latest.Equal(m.Time)
}

// bounds bound the memory of checkpoints.
type bounds struct {
	size   int64
	number int
	// span is how many transactions a span has at least, before checkpoints are removed.
	span int64
}

// keptBounds are the bounds of an Archive, beside the first state.
var keptBounds = bounds{size: 256 << 20, number: 512, span: 4096} // read only

// thin removes every second checkpoint, but not the first and the last, until the rest is within
// bounds. The result is how often that was done.
func (b bounds) thin(all []*checkpoint) (rest []*checkpoint, times int) {
	for len(all) > 2 && (len(all) > b.number || sizeOf(all) > b.size) {
		rest = nil
		for i, c := range all {
			if i%2 == 1 && i < len(all)-1 {
				c.leaveTo(all[i-1], all[i+1])
				continue
			}
			rest = append(rest, c)
		}
		all = rest
		times++
	}
	return all, times
}

func sizeOf(all []*checkpoint) (sum int64) {
	for _, c := range all[1:] {
		sum += c.size()
	}
	return sum
}

// leaveTo gives what a checkpoint has to its neighbors.
func (c *checkpoint) leaveTo(before, after *checkpoint) {
	before.last, before.latest = c.last, c.latest
	if before.first == nil {
		before.first = c.first
	}
	if after.whole {
		return
	}
	both, packed := after.changes().over(c.changes()), after.made == nil
	if after.made, after.whole = &both, c.whole; packed {
		after.pack()
	}
}

// restore makes the znodes and stays of a checkpoint.
func restore(all []*checkpoint, i int) (map[string]*recognize.Node, map[place]*Stay) {
	nodes, open := map[string]*recognize.Node{}, map[place]*Stay{}
	for _, c := range all[lastWhole(all[:i+1]) : i+1] {
		c.changes().applyTo(nodes, open)
	}
	return nodes, open
}

// lastWhole is the last whole checkpoint; the first one is whole.
func lastWhole(all []*checkpoint) int {
	i := len(all) - 1
	for !all[i].whole {
		i--
	}
	return i
}

// spanOf is the checkpoint in whose span the state of a mark is.
func spanOf(all []*checkpoint, m Mark) int {
	i := slices.IndexFunc(all, func(c *checkpoint) bool { return c.has(m) })
	if i < 0 {
		return len(all) - 1
	}
	return i
}
