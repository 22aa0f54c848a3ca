package dispatch

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// serverClock tells the servers' time: the time of the master's last write, plus the
// time since by the master's monotonic clock. It is behind by the duration of the
// write's reply, so nothing is removed too early.
type serverClock struct {
	server, local time.Time
	// wall is local by the wall clock alone.
	wall time.Time
}

// setTo sets the clock by a znode that was written just now.
func (c *serverClock) setTo(written session.Stat) {
	c.server, c.local = time.UnixMilli(written.Mtime), time.Now()
	c.wall = c.local.Round(0)
}

// maxSkew is how far the wall clock may move against the monotonic clock before the servers'
// time counts as unknown.
const maxSkew = time.Second

// isFresh reports whether the clock was set within a time. The monotonic clock does not count
// the time during which the machine was suspended; the wall clock does.
func (c *serverClock) isFresh(within time.Duration) bool {
	now := time.Now()
	age := now.Sub(c.local)
	return !c.local.IsZero() && age < within && (now.Round(0).Sub(c.wall)-age).Abs() < maxSkew
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
	// mu guards the fields below: the clock, and the session in which it was set.
	mu      sync.Mutex
	clock   serverClock
	session *session.Session
}

func (c *workerClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.now()
}

// isFresh reports whether the clock was set in s, within a time. The next session does not
// trust the clock of the former one, which may have ended by a suspension of the machine: so a
// clock is behind by less than a session timeout.
func (c *workerClock) isFresh(s *session.Session, within time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session == s && c.clock.isFresh(within)
}

// noteWrite sets the clock by the answer to a write in s.
func (c *workerClock) noteWrite(s *session.Session, stat session.Stat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
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
