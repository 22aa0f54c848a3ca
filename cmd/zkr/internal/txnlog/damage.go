package txnlog

import (
	"errors"
	"fmt"
)

// The reasons of a DamageError.
var (
	// ErrForeign means that the file is not a transaction log or snapshot: wrong
	// magic number, or no compressed file.
	ErrForeign = errors.New("not a file of this kind")
	// ErrVersion means that the file has a version other than 2, or a record of an
	// unknown type or form with a correct checksum.
	ErrVersion = errors.New("unknown version")
	// ErrCorrupt means that bytes are wrong: a checksum, a length or an end mark
	// does not fit, or data follows zeros.
	ErrCorrupt = errors.New("corrupt")
	// ErrTruncated means that a snapshot ends early: the server is still writing
	// the file, or died while writing.
	ErrTruncated = errors.New("truncated")
	// ErrRewritten means that a log lost records that were already read: the
	// server truncated the log, or started the file again.
	ErrRewritten = errors.New("rewritten while being read")
)

// DamageError describes where and why a file cannot be read further. The error
// wraps one of ErrForeign, ErrVersion, ErrCorrupt, ErrTruncated and ErrRewritten.
type DamageError struct {
	// At is the start of the damaged record. In a compressed snapshot the offset
	// counts uncompressed bytes.
	At Position
	// Last is the zxid of the last good transaction before the damage, or 0. A
	// snapshot has none.
	Last Zxid
	// Resume is the offset of a record after the damage at which reading can go
	// on, or 0 if unknown.
	Resume int64
	// Reason is one of the errors above.
	Reason error
	// Detail says what was expected and found.
	Detail string
}

func (e *DamageError) Error() string {
	text := fmt.Sprintf("txnlog: %s: %v: %s", e.At, e.Reason, e.Detail)
	if e.Last != 0 {
		text += fmt.Sprintf(" (last good zxid %s)", e.Last)
	}
	return text
}

func (e *DamageError) Unwrap() error { return e.Reason }
