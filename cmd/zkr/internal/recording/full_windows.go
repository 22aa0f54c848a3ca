package recording

import (
	"errors"
	"syscall"
)

// The codes of Windows for a full disk.
const (
	errorHandleDiskFull syscall.Errno = 39
	errorDiskFull       syscall.Errno = 112
)

// isFull reports whether an error says that the disk is full.
func isFull(err error) bool {
	return errors.Is(err, errorHandleDiskFull) || errors.Is(err, errorDiskFull)
}
