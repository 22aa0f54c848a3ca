package world

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Guarded is the znode that holders write in stress tests.
const Guarded = "/guarded"

// History is what the workers of a stress test saw. The zero value is empty, and its
// methods may be called from any goroutine.
type History struct {
	// mu guards the fields below.
	mu     sync.Mutex
	holds  []Hold
	wrote  []Write
	forced map[int64]time.Time // sessions that were expired out of turn
	failed error
}

// Fail notes an error that has no excuse, if it is the first; nil is none.
func (c *History) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// Failed is the first error that has no excuse.
func (c *History) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Expire notes, before it happens, that a session is expired out of turn: its holders
// cannot know that at once.
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

// Until is when what a session had, as it saw it, was its own at the longest: to, or
// before, when it was expired out of turn. It never was if that was before from.
func (c *History) Until(id int64, from, to time.Time) (until time.Time, ever bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.untilLocked(id, from, to)
}

func (c *History) untilLocked(id int64, from, to time.Time) (until time.Time, ever bool) {
	at, forced := c.forced[id]
	switch {
	case forced && !at.After(from):
		return from, false // it was granted what the expiry had taken
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

// Holds returns the noted holds, up to the time at which their session was expired out
// of turn.
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

// Write writes Guarded in s with the guard of a hold, and notes when that was
// applied.
func (c *History) Write(ctx context.Context, s *session.Session, guard session.Op, token int64) {
	res, err := s.Txn(ctx, guard, session.SetOp(Guarded, []byte(strconv.FormatInt(token, 10)), -1))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = append(c.wrote, Write{token, res[1].Stat.Mzxid})
}

// Wrote are the writes that were applied.
func (c *History) Wrote() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrote
}
