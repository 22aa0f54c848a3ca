package session

import (
	"fmt"
	"math"
)

// sequenceDigits is how many characters the server appends to the name of a
// sequential node: the number, padded with zeros, sign included.
const sequenceDigits = 10

// SequenceWarning is the number from which on the creation of a sequential
// node is logged as a warning: at 1,000 nodes a second some two and a half days
// before ErrSequenceExhausted, at 10 a second eight months.
const SequenceWarning = math.MaxInt32 - 1<<28

// Sequence reads the number that the server appended to the name of a
// sequential node: the last ten characters, digits only or a minus and nine
// digits. The number is a signed 32-bit counter of the parent. Below 0 and at
// 2147483647 it does not tell any more who came first (the server repeats
// numbers there), and the error wraps ErrSequenceExhausted; any other error
// says that name is not one of a sequential node.
func Sequence(name string) (int32, error) {
	if len(name) < sequenceDigits {
		return 0, fmt.Errorf("session: %q does not end with a sequence number", name)
	}
	tail := name[len(name)-sequenceDigits:]
	digits, negative := tail, false
	if tail[0] == '-' {
		digits, negative = tail[1:], true
	}
	var n int64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("session: %q does not end with a sequence number", name)
		}
		n = n*10 + int64(c-'0')
	}
	// -2147483648 takes eleven characters: its sign stands before the ten.
	if !negative && len(name) > sequenceDigits && name[len(name)-sequenceDigits-1] == '-' && n == -math.MinInt32 {
		negative = true
	}
	switch {
	case negative:
		return int32(-n), fmt.Errorf("session: %q: %w", name, ErrSequenceExhausted)
	case n > math.MaxInt32:
		return 0, fmt.Errorf("session: %q does not end with a sequence number", name)
	case n == math.MaxInt32:
		return math.MaxInt32, fmt.Errorf("session: %q: %w", name, ErrSequenceExhausted)
	}
	return int32(n), nil
}
