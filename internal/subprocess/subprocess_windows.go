package subprocess

import (
	"os/exec"
	"syscall"
)

// CanFreeze reports that Windows cannot stop a process and let it continue.
const CanFreeze = false

// Windows has no such signals, and refuses them.
const (
	stop   = syscall.Signal(0x13)
	resume = syscall.Signal(0x12)
)

// OwnGroup lets cmd start in a process group of its own: Ctrl-C does not reach it.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
