//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopts: orphaned descendants become init's children, not zkr's.
const adopts = false

// DieWithParent has no means here.
func DieWithParent(*syscall.SysProcAttr) {}

// ownFile is the program of this process, as long as the file is in its place.
func ownFile() (string, error) { return os.Executable() }

// AdoptOrphans has no means here.
func AdoptOrphans() {}

// foregroundGroup returns the process group in the foreground of the terminal
// at fd.
func foregroundGroup(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCGPGRP) }

// signalDescendants finds none: the process group is all there is.
func signalDescendants(syscall.Signal, int) {}

// descendants finds none.
func descendants(func(int) bool) []int { return nil }
