package supervise

import (
	"os"
	"strconv"
	"syscall"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"golang.org/x/sys/unix"
)

// adopts: orphaned descendants become zkr's children.
const adopts = true

// DieWithParent makes the kernel kill the command when zkr dies.
func DieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// ownFile is the program of this process, even after an upgrade has replaced
// the file.
func ownFile() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// AdoptOrphans makes zkr the parent of its orphaned descendants, so that zkr
// can find and wait for descendants in every group or session.
func AdoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // supported by kernels since 3.4
}

// foregroundGroup returns the process group in the foreground of the terminal
// at fd.
func foregroundGroup(fd int) (int, error) {
	group, err := unix.IoctlGetUint32(fd, unix.TIOCGPGRP) // a pid_t: an int would be wrong on big-endian processors
	return int(group), err
}

// signalDescendants sends sig to all descendants of this process except group,
// which has got the signal already: to many programs a second TERM means to
// hurry.
func signalDescendants(sig syscall.Signal, group int) {
	for _, pid := range descendants(func(int) bool { return true }) {
		if own, err := syscall.Getpgid(pid); err == nil && own != group {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// descendants are the selected children of this process, and all their
// descendants.
func descendants(counts func(child int) bool) (out []int) {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := signals.ParentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	for _, child := range children[os.Getpid()] {
		if counts(child) {
			out = append(out, child)
		}
	}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}
