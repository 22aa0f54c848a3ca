package cluster

import "syscall"

// canFreeze reports that Windows cannot stop a process and let it continue.
const canFreeze = false

// Windows has no signals to stop and continue a process; these are refused.
const (
	signalStop     = syscall.Signal(0x13)
	signalContinue = syscall.Signal(0x12)
)
