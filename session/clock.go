package session

import (
	"sync/atomic"
	"time"
)

// clockSkew is how far the wall clock may drift from the monotonic one before
// the machine is asked whether it was suspended: far less than any margin, and
// more than clocks are adjusted by between two readings.
const clockSkew = 5 * time.Millisecond

// clock is the time that leases are measured with: monotonic, and counting the
// time during which the whole machine was suspended, which Go's monotonic clock
// leaves out.
//
// Asking the machine takes two system calls, and this is read several times per
// request. A suspension moves the wall clock against the monotonic one, so it is
// asked only after that has happened.
type clock struct {
	base   time.Time
	asleep time.Duration // before base
	skew   atomic.Int64  // of the wall clock, when the machine was last asked
	slept  atomic.Int64  // since base, as of then
}

func newClock() *clock { return &clock{base: time.Now(), asleep: suspended()} }

func (c *clock) now() time.Time {
	now := time.Now()
	skew := now.Round(0).Sub(c.base.Round(0)) - now.Sub(c.base)
	if (skew - time.Duration(c.skew.Load())).Abs() > clockSkew {
		c.sleptFor(int64(suspended() - c.asleep))
		c.skew.Store(int64(skew))
	}
	return now.Add(time.Duration(c.slept.Load()))
}

// sleptFor notes d, never less than before: this clock does not go back.
func (c *clock) sleptFor(d int64) {
	for {
		known := c.slept.Load()
		if d <= known || c.slept.CompareAndSwap(known, d) {
			return
		}
	}
}
