//go:build unix

package recording

import (
	"errors"
	"syscall"
)

// isFull reports whether an error says that the disk is full, or a quota is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
