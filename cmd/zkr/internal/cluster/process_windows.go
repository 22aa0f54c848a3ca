package cluster

import "syscall"

// canFreeze reports that Windows cannot stop a process and let it continue.
const canFreeze = false

// Windows has no signals that stop a process and let it continue; these are refused.
const (
	signalStop     = syscall.Signal(0x13)
	signalContinue = syscall.Signal(0x12)
)
