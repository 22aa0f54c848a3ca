package dispatch

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// serverClock tells the servers' time: the time of the master's last write, plus the
// time since by the master's monotonic clock. It is behind by the duration of the
// write's reply, so nothing is removed too early.
type serverClock struct{ server, local time.Time }

// setTo sets the clock by a znode that was written just now.
func (c *serverClock) setTo(written session.Stat) {
	c.server, c.local = time.UnixMilli(written.Mtime), time.Now()
}

func (c *serverClock) now() time.Time {
	if c.local.IsZero() {
		return time.Now()
	}
	return c.server.Add(time.Since(c.local))
}

// workerClock is the servers' clock as a worker knows it, for its loop and its handlers, or
// as a client does.
type workerClock struct {
	// mu guards the fields below.
	mu    sync.Mutex
	clock serverClock
}

func (c *workerClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.now()
}

// isFresh reports whether the clock was set within a time.
func (c *workerClock) isFresh(within time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.clock.local.IsZero() && time.Since(c.clock.local) < within
}

// noteWrite sets the clock by the answer to a write.
func (c *workerClock) noteWrite(stat session.Stat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock.setTo(stat)
}

// noteRead sets the clock by a znode that was written some time ago: the servers' time is that
// or later, so the clock only goes forward.
func (c *workerClock) noteRead(stat session.Stat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clock.local.IsZero() || time.UnixMilli(stat.Mtime).After(c.clock.now()) {
		c.clock.setTo(stat)
	}
}
