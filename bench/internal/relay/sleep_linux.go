package relay

import (
	"syscall"
	"time"
)

// slack is how much later than asked for the kernel wakes a thread by default
// (PR_SET_TIMERSLACK in prctl(2)).
const slack = 50 * time.Microsecond

// sleep waits for d. The system call is exact to some microseconds: time.Sleep waits
// for a whole number of milliseconds in a process without other work, which is more
// than the delay of a network.
func sleep(d time.Duration) {
	if d -= slack; d > 0 {
		t := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&t, nil) // cut short by a signal: a shorter delay
	}
}
