package osproc

import (
	"errors"
	"os/exec"
	"syscall"
)

// CanFreeze returns an error: Windows has no signals that stop a process and let it
// continue.
func CanFreeze() error {
	return errors.New("this example stops processes and lets them continue, which needs Unix; on Windows, run it in WSL")
}

// Windows has no signals that stop a process and let it continue; these are refused.
const (
	stop   = syscall.Signal(0x13)
	resume = syscall.Signal(0x12)
)

// ownGroup starts cmd in a process group of its own, which Ctrl-C does not reach.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
