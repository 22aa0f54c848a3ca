package supervise

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// RunsCommands reports that Windows lacks the process groups and signals with which a
// command is stopped before the hold is lost.
const RunsCommands = false

// OwnGroup starts cmd in a process group of its own, which Ctrl-C does not reach.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// statusNumber is how a process has ended as a number, and statusFrom turns it back.
func statusNumber(status syscall.WaitStatus) uint32 { return status.ExitCode }

func statusFrom(number uint32) syscall.WaitStatus { return syscall.WaitStatus{ExitCode: number} }
