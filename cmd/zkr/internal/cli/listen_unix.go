//go:build unix

package cli

import (
	"errors"
	"syscall"
)

// IsAddressInUse reports whether another process listens there.
func IsAddressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
