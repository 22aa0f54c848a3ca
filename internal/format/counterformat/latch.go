package counterformat

import (
	"math"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// LatchBase ends the name of the mark that a latch's writer has below the znode, as
// [WriterBase] does for numbers.
const LatchBase = "countdown"

// MaxCount is the highest count of a latch, and the highest number of a round.
const MaxCount = math.MaxInt32

// IsLatch recognizes the names of the marks of latches' writers.
func IsLatch(name string) bool {
	_, base, ok := znode.Protection(name)
	return ok && base == LatchBase
}

// IsMark recognizes the names of the marks of all writers.
func IsMark(name string) bool { return IsWriter(name) || IsLatch(name) }

// JoinLatch makes the number of a latch, which is kept in the form Long: the round in the
// upper four bytes, the count in the lower four. The first round is 1; the number 0 is that of
// a latch whose count was never set.
func JoinLatch(round, count int32) int64 { return int64(round)<<32 | int64(count) }

// SplitLatch reads the number of a latch; false for a number that no latch writes.
func SplitLatch(v int64) (round, count int32, ok bool) {
	if v < 0 || v&(1<<32-1) > MaxCount || v > 0 && v>>32 == 0 {
		return 0, 0, false
	}
	return int32(v >> 32), int32(v & MaxCount), true
}

// NextRound is the number of the round that follows; 1 follows the highest.
func NextRound(round int32) int32 {
	if round == MaxCount {
		return 1
	}
	return round + 1
}
