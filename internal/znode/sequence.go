package znode

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Digits is how many characters the server appends to the name of a sequential znode:
// the number, padded with zeros, sign included.
const Digits = 10

// SequenceWarning is session.SequenceWarning.
const SequenceWarning = math.MaxInt32 - 1<<28

// ErrExhausted is session.ErrSequenceExhausted.
var ErrExhausted = errors.New("the parent's sequence numbers are used up: delete the parent while no client uses it, and create it again")

// Sequence reads the number that the server appended to the name of a sequential znode;
// session.Sequence has the rules.
func Sequence(name string) (int32, error) {
	if len(name) < Digits {
		return 0, fmt.Errorf("%q does not end with a sequence number", name)
	}
	tail := name[len(name)-Digits:]
	digits, negative := tail, false
	if tail[0] == '-' {
		digits, negative = tail[1:], true
	}
	var n int64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q does not end with a sequence number", name)
		}
		n = n*10 + int64(c-'0')
	}
	negative = negative || negativeBefore(name[:len(name)-Digits], n)
	switch {
	case negative:
		return int32(-n), fmt.Errorf("%q: %w", name, ErrExhausted)
	case n > math.MaxInt32:
		return 0, fmt.Errorf("%q does not end with a sequence number", name)
	case n == math.MaxInt32:
		return math.MaxInt32, fmt.Errorf("%q: %w", name, ErrExhausted)
	}
	return int32(n), nil
}

// negativeBefore tells whether n, of ten digits, is negative, with its sign at the
// end of before: either no positive number is that large, or another minus precedes,
// which ends the prefix.
func negativeBefore(before string, n int64) bool {
	if n < 1e9 || !strings.HasSuffix(before, "-") {
		return false
	}
	return n == -math.MinInt32 || strings.HasSuffix(before, "--")
}
