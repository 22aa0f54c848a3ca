//go:build unix

package cluster

import "syscall"

// canFreeze reports that this system can stop a process and let it continue.
const canFreeze = true

// Signals to stop a process and to continue the process.
const (
	signalStop     = syscall.SIGSTOP
	signalContinue = syscall.SIGCONT
)
