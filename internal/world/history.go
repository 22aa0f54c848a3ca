package world

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Guarded is the znode written by holders in stress tests.
const Guarded = "/guarded"

// History has the observations of a stress test's workers. The zero value is
// empty, and its
// methods may be called from any goroutine.
type History struct {
	// mu guards the fields below.
	mu     sync.Mutex
	holds  []Hold
	wrote  []Write
	forced map[int64]time.Time // sessions expired early
	failed error
}

// Fail records the first unexcused error; nil is ignored.
func (c *History) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// Failed is the first unexcused error.
func (c *History) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Expire records an early expiry of a session, before the expiry: its holders
// cannot know at once.
func (c *History) Expire(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forced == nil {
		c.forced = map[int64]time.Time{}
	}
	if _, known := c.forced[id]; !known {
		c.forced[id] = time.Now()
	}
}

// Until is the latest end of a session's hold that lasted from from to to by
// its own knowledge: to, or an early expiry before. ever is false if the expiry
// was before from.
func (c *History) Until(id int64, from, to time.Time) (until time.Time, ever bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.untilLocked(id, from, to)
}

func (c *History) untilLocked(id int64, from, to time.Time) (until time.Time, ever bool) {
	at, forced := c.forced[id]
	switch {
	case forced && !at.After(from):
		return from, false // granted after the expiry had already taken it
	case forced && at.Before(to):
		return at, true
	}
	return to, true
}

// Hold notes a hold.
func (c *History) Hold(h Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds = append(c.holds, h)
}

// Holds returns the noted holds, up to an early expiry of their session.
func (c *History) Holds() []Hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Hold
	for _, h := range c.holds {
		var ever bool
		if h.To, ever = c.untilLocked(h.Session, h.From, h.To); ever {
			out = append(out, h)
		}
	}
	return out
}

// Write writes Guarded in s with the guard of a hold, and records an applied
// write.
func (c *History) Write(ctx context.Context, s *session.Session, guard session.Op, token int64) {
	res, err := s.Txn(ctx, guard, session.SetOp(Guarded, []byte(strconv.FormatInt(token, 10)), -1))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = append(c.wrote, Write{token, res[1].Stat.Mzxid})
}

// Wrote are the applied writes.
func (c *History) Wrote() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrote
}
