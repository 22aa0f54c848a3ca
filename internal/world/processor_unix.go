//go:build unix

package world

import (
	"syscall"
	"time"
)

// ProcessorTime is how long processors have worked for this process. For a bound on
// what something costs it is better than the time of day, which passes while the
// machine does something else, too. Other goroutines, and the collector, count.
func ProcessorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // it has no reason to fail
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
