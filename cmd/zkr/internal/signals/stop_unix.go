//go:build unix

package signals

import (
	"os"

	"golang.org/x/sys/unix"
)

// controlled reports whether a shell with job control may continue zkr's
// stopped process group: a process of the group has a parent outside the group,
// in the same session. Other groups are orphaned, and stops have no effect on
// them.
func controlled() bool {
	own := unix.Getpgrp()
	for pid, ok := os.Getppid(), true; ok && pid > 1; pid, ok = ParentOf(pid) {
		if group, err := unix.Getpgid(pid); err != nil {
			return false
		} else if group != own {
			theirs, err := unix.Getsid(pid)
			ours, errOurs := unix.Getsid(0)
			return err == nil && errOurs == nil && theirs == ours
		}
	}
	return false
}

// stopProcess stops zkr alone.
func stopProcess() { _ = unix.Kill(os.Getpid(), unix.SIGSTOP) }
