package supervise

import "syscall"

// RunsCommands reports that Windows lacks the process groups and signals for
// stopping a command before the hold is lost.
const RunsCommands = false

// statusNumber turns the end of a process into a number, and statusFrom turns
// the number back.
func statusNumber(status syscall.WaitStatus) uint32 { return status.ExitCode }

func statusFrom(number uint32) syscall.WaitStatus { return syscall.WaitStatus{ExitCode: number} }
