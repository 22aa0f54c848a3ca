package recorder

import (
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
)

// slightly is by how much the machine's clock may be set back without a record of that.
const slightly = time.Second

// clock is the clock of the records: that of the machine, but it never goes back. When the
// machine's clock is set back, this clock runs at half the speed until the machine's has caught
// up, so that all moments stay in their order, and nothing takes longer than it took.
type clock struct {
	wall func() time.Time // the machine's clock, without a monotonic reading

	// mu guards the fields below. last is the newest time, and read the reading of the
	// monotonic clock then. setBack is by how much the machine's clock was set back, until
	// takeSetBack has told it; ahead says that the machine's clock has not caught up.
	mu      sync.Mutex
	last    time.Time
	read    time.Time
	ahead   bool
	setBack time.Duration
}

// newClock makes a clock that begins at the machine's time, or at earliest if that is later.
func newClock(machine func() time.Time, earliest time.Time) *clock {
	return &clock{wall: func() time.Time { return machine().Round(0) }, last: earliest, read: time.Now()}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nowLocked()
}

func (c *clock) nowLocked() time.Time {
	read, at := time.Now(), c.wall()
	passed := read.Sub(c.read)
	behind := at.Before(c.last)
	if behind {
		if !c.ahead {
			c.setBack = max(c.setBack, c.last.Add(passed).Sub(at))
		}
		at = c.last.Add(passed / 2)
	}
	c.last, c.read, c.ahead = at, read, behind
	return at
}

// convert returns the time of a moment in the past, with a monotonic reading. A suspended
// machine stops the monotonic clock: the time is then the earlier one.
func (c *clock) convert(moment time.Time) time.Time {
	if moment.IsZero() {
		return moment
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.nowLocked()
	now := time.Now()
	return at.Add(-max(now.Sub(moment), now.Round(0).Sub(moment.Round(0))))
}

// takeSetBack returns a record of the machine's clock being set back, once, or nil.
func (c *clock) takeSetBack() *recording.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.setBack
	if c.setBack = 0; by < slightly {
		return nil
	}
	why := fmt.Sprintf("the clock of the recorder's machine was %v behind the recording; until it has caught up, the times of the recording run at half speed", by.Round(time.Second))
	return &recording.Record{Kind: recording.Clock, At: recording.Moment(c.last), Why: why}
}
