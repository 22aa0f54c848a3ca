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

// suspended is how long the machine has been suspended since it booted, which
// CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not.
func suspended() time.Duration {
	var boot, mono time.Duration
	// Readings are some hundred nanoseconds apart, unless this thread loses
	// its processor between them: then they say nothing, and are repeated.
	for range 100 {
		before, ok := gettime(clockMonotonic)
		if !ok {
			return 0
		}
		if boot, ok = gettime(clockBoottime); !ok {
			return 0
		}
		if mono, ok = gettime(clockMonotonic); !ok {
			return 0
		}
		if mono-before < time.Millisecond {
			break
		}
	}
	return (boot - mono).Round(time.Millisecond)
}

func gettime(id uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
