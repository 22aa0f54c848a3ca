package session

import "time"

// clock is the time that leases are measured with: monotonic, and counting the
// time during which the whole machine was suspended, which Go's monotonic clock
// leaves out.
type clock struct{ asleep time.Duration }

func newClock() clock { return clock{asleep: suspended()} }

func (c clock) now() time.Time { return time.Now().Add(suspended() - c.asleep) }
