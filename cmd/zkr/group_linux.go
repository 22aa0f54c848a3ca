package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// adopts says that orphaned descendants become zkr's children.
const adopts = true

// prSetChildSubreaper of prctl(2): orphans among the descendants become
// children of this process instead of init's.
const prSetChildSubreaper = 36

// dieWithParent makes the kernel kill the command when zkr dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// ownFile is the program that this process runs: that one, also when an upgrade has
// put another in its place.
func ownFile() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// adoptOrphans makes zkr the parent of its orphaned descendants, so that they
// can be found and waited for, whatever group or session they moved to.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// signalDescendants sends sig to all descendants of this process but those in
// group, who have got it already: to many programs a second TERM means to hurry.
func signalDescendants(sig syscall.Signal, group int) {
	for _, pid := range descendants(func(int) bool { return true }) {
		if own, err := syscall.Getpgid(pid); err == nil && own != group {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// descendants are those of this process's children that count, and all theirs.
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
		if parent, ok := parentOf(pid); ok {
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

// parentOf reads a process's parent. The name before it may hold anything, also
// parentheses.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
