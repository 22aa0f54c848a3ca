//go:build unix

package cli

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether the reader of a pipe is gone.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
