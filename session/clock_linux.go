package session

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock ids of clock_gettime(2).
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// suspended is how long the machine has been suspended since it booted: what
// CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not.
func suspended() time.Duration {
	mono, ok := gettime(clockMonotonic)
	if !ok {
		return 0
	}
	boot, ok := gettime(clockBoottime)
	if !ok {
		return 0
	}
	// Two readings are some hundred nanoseconds apart; a suspension is not.
	return (boot - mono).Truncate(time.Millisecond)
}

func gettime(id uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
