//go:build unix

package supervise

import "syscall"

// RunsCommands reports that this system has the process groups and signals for
// stopping a command before the hold is lost.
const RunsCommands = true

// statusNumber turns the end of a process into a number, and statusFrom turns
// the number back.
func statusNumber(status syscall.WaitStatus) uint32 { return uint32(status) }

func statusFrom(number uint32) syscall.WaitStatus { return syscall.WaitStatus(number) }
