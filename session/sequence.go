package session

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// SequenceWarning is the number from which on the creation of a sequential znode
// is logged as a warning: at 1,000 znodes a second some two and a half days
// before ErrSequenceExhausted, at 10 a second eight months.
const SequenceWarning = znode.SequenceWarning

// Sequence reads the number that the server appended to the name of a
// sequential node: the last ten characters, digits only or a minus and nine
// digits. The number is a signed 32-bit counter of the parent. Below 0 and at
// 2147483647 the number does not reflect the order of creation any more (the
// server repeats numbers there), and the error wraps ErrSequenceExhausted; any
// other error says that name is not the name of a sequential node.
//
// From -1000000000 downward a number has eleven characters, and only the prefix
// tells whether the first is its minus. Sequence takes "lock--2000000000" for the
// prefix "lock-" and a negative number, and "lock-2000000000" for the same prefix
// and a positive one. So the prefix should end with one minus; callers with other
// prefixes have to know theirs, and to cut it off.
func Sequence(name string) (int32, error) {
	n, err := znode.Sequence(name)
	if err != nil {
		return n, fmt.Errorf("session: %w", err)
	}
	return n, nil
}
