package signals

import (
	"os"
	"syscall"
)

// passedOn are passed on to a command; there are none.
var passedOn []os.Signal // read only

// Windows has none of these signals: no process sends them, and they are refused.
const (
	Cont           = syscall.Signal(0x12)
	Stop           = syscall.Signal(0x13)
	TerminalStop   = syscall.Signal(0x14)
	TerminalInput  = syscall.Signal(0x15)
	TerminalOutput = syscall.Signal(0x16)
	Resize         = syscall.Signal(0x1c)
)
