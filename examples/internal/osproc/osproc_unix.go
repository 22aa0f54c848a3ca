//go:build unix

package osproc

import (
	"os/exec"
	"syscall"
)

// CanFreeze returns no error: this system can stop a process and let it continue.
func CanFreeze() error { return nil }

// Signals that stop a process, and let it continue.
const (
	stop   = syscall.SIGSTOP
	resume = syscall.SIGCONT
)

// ownGroup starts cmd in a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
