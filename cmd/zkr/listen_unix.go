//go:build unix

package main

import (
	"errors"
	"syscall"
)

// isAddressInUse reports whether another process listens there.
func isAddressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
