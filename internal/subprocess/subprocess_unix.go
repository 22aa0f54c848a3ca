//go:build unix

package subprocess

import (
	"os/exec"
	"syscall"
)

// CanFreeze reports that this system can stop a process and let it continue.
const CanFreeze = true

const (
	stop   = syscall.SIGSTOP
	resume = syscall.SIGCONT
)

// OwnGroup lets cmd start in a process group of its own: Ctrl-C does not reach it.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
