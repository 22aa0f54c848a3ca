package supervise

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// RunsCommands reports that Windows lacks the process groups and signals for
// stopping a command before the hold is lost.
const RunsCommands = false

// OwnGroup starts cmd in a process group of its own, out of reach of Ctrl-C.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// statusNumber turns the end of a process into a number, and statusFrom turns
// the number back.
func statusNumber(status syscall.WaitStatus) uint32 { return status.ExitCode }

func statusFrom(number uint32) syscall.WaitStatus { return syscall.WaitStatus{ExitCode: number} }
