package world

import (
	"syscall"
	"time"
)

// ProcessorTime is the processor time of this process. As a bound on costs,
// processor time is better than the time of day, which also passes while the
// machine does other work. Other goroutines, and the garbage collector, count.
func ProcessorTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err) // never fails
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &ended, &kernel, &user); err != nil {
		panic(err) // never fails
	}
	return elapsed(kernel) + elapsed(user)
}

// elapsed is a Windows time span, counted in units of 100 ns.
func elapsed(f syscall.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32+int64(f.LowDateTime)) * 100
}
