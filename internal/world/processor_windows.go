package world

import (
	"syscall"
	"time"
)

// ProcessorTime is how long processors have worked for this process. For a bound on
// what something costs it is better than the time of day, which passes while the
// machine does something else, too. Other goroutines, and the collector, count.
func ProcessorTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err) // it has no reason to fail
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &ended, &kernel, &user); err != nil {
		panic(err) // it has no reason to fail
	}
	return elapsed(kernel) + elapsed(user)
}

// elapsed is a time span that Windows counts in units of 100 ns.
func elapsed(f syscall.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32+int64(f.LowDateTime)) * 100
}
