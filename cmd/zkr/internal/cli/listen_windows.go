package cli

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsAddressInUse reports whether another process listens there.
func IsAddressInUse(err error) bool { return errors.Is(err, windows.WSAEADDRINUSE) }
