//go:build unix

package signals

import (
	"os"
	"syscall"
)

// passedOn are passed on to a command, and mean nothing before it runs.
var passedOn = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH} // read only

// Signals that some systems lack.
const (
	Cont           = syscall.SIGCONT
	Stop           = syscall.SIGSTOP
	TerminalStop   = syscall.SIGTSTP
	TerminalInput  = syscall.SIGTTIN
	TerminalOutput = syscall.SIGTTOU
	Resize         = syscall.SIGWINCH
)
