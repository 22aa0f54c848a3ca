//go:build unix

package task

import (
	"syscall"
	"time"
)

// usage is what the system has counted for this process.
func usage() (out syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &out) // cannot fail with these arguments
	return out
}

// ProcessorTime is the processor time of this process since its start.
func ProcessorTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// WakeUps is how often this process has waited for something and has gone on.
func WakeUps() int64 { return int64(usage().Nvcsw) } //nolint:unconvert // int32 on some systems
