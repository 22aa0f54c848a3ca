//go:build unix

package recording

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed or the process ends. The error is ErrLocked if
// another process has locked it.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
