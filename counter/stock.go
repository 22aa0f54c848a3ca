package counter

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
)

// stock has the numbers that a Sequence has reserved; it is the batcher's Stock.
type stock struct {
	format Format
	block  int64 // how many numbers a write reserves at least

	// The numbers from first to last are those of the last Plan. They belong to the
	// goroutine that carries batches out.
	first, last int64

	// given and end are guarded by the batcher's lock: the numbers above given and up to end
	// are reserved and not handed out.
	given, end int64
}

// Plan implements batchwrite.Stock: it reserves n numbers, or block if larger, or the
// remaining numbers.
func (s *stock) Plan(now batchwrite.State, n int) ([]byte, error) {
	value, err := s.format.decode(now.Data)
	if err != nil {
		return nil, err
	}
	value = max(value, 0) // the first number is 1, also after a negative value
	left := s.format.maxValue() - value
	if left == 0 {
		return nil, fmt.Errorf("%w: %d was the last number", ErrOverflow, value)
	}
	s.first, s.last = value+1, value+min(max(s.block, int64(n)), left)
	return s.format.encode(s.last), nil
}

// Refill implements batchwrite.Stock.
func (s *stock) Refill() error {
	if s.first <= s.end {
		return fmt.Errorf("%w: got %d to %d after %d", ErrReused, s.first, s.last, s.end)
	}
	s.given, s.end = s.first-1, s.last
	return nil
}

// Take implements batchwrite.Stock.
func (s *stock) Take() (int64, bool) {
	if s.given == s.end {
		return 0, false
	}
	s.given++
	return s.given, true
}

// Single implements batchwrite.Stock: with a block of 1, the numbers of all processes
// increase.
func (s *stock) Single() bool { return s.block == 1 }
