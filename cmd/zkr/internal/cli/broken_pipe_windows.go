package cli

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isBrokenPipe reports whether the reader of a pipe is gone.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
