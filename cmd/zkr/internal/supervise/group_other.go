//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopts says that orphaned descendants become init's children, not zkr's.
const adopts = false

// DieWithParent has no means here.
func DieWithParent(*syscall.SysProcAttr) {}

// ownFile is the program that this process runs, as long as it is where it was.
func ownFile() (string, error) { return os.Executable() }

// AdoptOrphans has no means here.
func AdoptOrphans() {}

// foregroundGroup returns the process group that has the terminal at fd.
func foregroundGroup(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCGPGRP) }

// signalDescendants finds none: the process group is all there is.
func signalDescendants(syscall.Signal, int) {}

// descendants finds none.
func descendants(func(int) bool) []int { return nil }
