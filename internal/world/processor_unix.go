//go:build unix

package world

import (
	"syscall"
	"time"
)

// ProcessorTime is the processor time of this process. As a bound on costs,
// processor time is better than the time of day, which also passes while the
// machine does other work. Other goroutines, and the garbage collector, count.
func ProcessorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // never fails
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
