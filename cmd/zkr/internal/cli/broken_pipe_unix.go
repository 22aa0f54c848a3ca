//go:build unix

package cli

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether nobody reads what was written.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
