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

// adoptOrphans makes zkr the parent of its orphaned descendants, so that they
// can be found and waited for, whatever group or session they moved to.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// signalDescendants sends sig to all descendants of this process.
func signalDescendants(sig syscall.Signal) {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
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
	for todo := children[os.Getpid()]; len(todo) > 0; todo = todo[1:] {
		_ = syscall.Kill(todo[0], sig)
		todo = append(todo, children[todo[0]]...)
	}
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
