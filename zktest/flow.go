package zktest

import (
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
)

// maxUnsent bounds, for each connection and in bytes, the answers that the
// client has not read and the requests that wait for their answers.
//
// A client that sends requests and does not read fills its answers first. Then
// its requests are not processed any more, and when these have filled up, too,
// its connection is not read: its writes block, as those to any TCP server do.
// Each bound is exceeded by at most one answer or request.
const maxUnsent = 4 << 20

// frameCost is what a request costs beside its bytes: a client may send a lot of
// empty frames.
const frameCost = 100

// chunk is how many bytes are read or written at once.
const chunk = 64 << 10

// sendRecords sends records to the client after delay and everything before it.
func (c *conn) sendRecords(delay time.Duration, records ...[]byte) {
	c.s.stats.PacketsSent += len(records)
	if c.deaf && c.unsent.Load() > maxUnsent {
		return
	}
	c.pushOut(jute.Frames(records...), delay)
}

func (c *conn) pushOut(b []byte, delay time.Duration) {
	c.unsent.Add(int64(len(b)))
	c.out.Push(delay, func() { c.wire.send(b) })
}

// Full implements ensemble.Sink: the client has to read before its next request is
// processed. The requests that a client sent before it closed its end take effect
// nevertheless; the answers are thrown away.
func (c *conn) Full() bool { return !c.deaf && c.unsent.Load() > maxUnsent }

// Answered implements ensemble.Sink: requests have left the server's queue.
func (c *conn) Answered() {
	if !c.crammedLocked() {
		c.room.Broadcast()
	}
}

// sent notes that n bytes have left for the client. It must be called without
// the server's mu, which it takes only when the connection is no longer full:
// of all calls that lower unsent, exactly one crosses the bound.
func (c *conn) sent(n int) {
	left := c.unsent.Add(int64(-n))
	if left > maxUnsent || left+int64(n) <= maxUnsent {
		return
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.resumeLocked()
}

// deafenLocked notes that the client reads no more answers.
func (c *conn) deafenLocked() {
	full := c.Full()
	c.deaf = true
	c.room.Broadcast()
	if full {
		c.resumeLocked()
	}
}

// resumeLocked asks the loop to process what waited. It does not do so itself,
// since hooks may be called on the way.
func (c *conn) resumeLocked() {
	c.s.loop.After(0, func() {
		if !c.core.Node().Frozen() {
			c.core.Drain()
		}
		c.in.Pump()
	})
	c.s.loop.After(0, c.out.Pump)
}

// crammedLocked tells whether too many requests wait to read more of them.
func (c *conn) crammedLocked() bool {
	return !c.deaf && !c.dead && !c.over && c.waiting+c.core.Held() > maxUnsent
}

// pushIn hands f, which stands for size bytes from the client, to the server.
func (c *conn) pushIn(size int, f func()) {
	size += frameCost
	c.waiting += size
	c.in.Push(c.s.delayLocked(c, ToServer), func() {
		c.waiting -= size
		f()
		c.Answered()
	})
}

// clearLocked throws away what is in progress in both directions.
func (c *conn) clearLocked() {
	c.in.Clear()
	c.out.Clear()
	c.waiting = 0
	c.room.Broadcast()
}
