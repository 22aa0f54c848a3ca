//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// procStatus is the status file of a process; "" for no process.
func procStatus(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	return string(text)
}

// procState is a process's state: R, S, T (stopped), Z (dead, not waited for),
// or "" if the process is gone.
func procState(t *testing.T, pid int) string {
	t.Helper()
	for line := range strings.Lines(procStatus(t, pid)) {
		if state, ok := strings.CutPrefix(line, "State:\t"); ok {
			return state[:1]
		}
	}
	return ""
}

// dead reports whether a process is gone, or only waited for.
func dead(t *testing.T, pid int) bool {
	t.Helper()
	state := procState(t, pid)
	return state == "" || state == "Z"
}

// pidIn waits for a process id that a script writes into a file.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	pid := 0
	eventually(t, func() bool {
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, "a process id in %s", file)
	return pid
}

// writeProgram writes a file that can be run at once. No process is forked
// meanwhile: a child of another test would have inherited the open file, and
// the kernel runs no file that is open for writing.
func writeProgram(t *testing.T, file string, data []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(file, data, 0o700))
}
