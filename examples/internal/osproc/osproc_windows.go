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
	Stop     = syscall.Signal(0x13)
	Continue = syscall.Signal(0x12)
)

// OwnGroup starts cmd in a process group of its own, which Ctrl-C does not reach.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
