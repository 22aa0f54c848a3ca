package zktest

import (
	"time"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
)

// maxUnsent bounds, for each connection and in bytes, unread answers and
// waiting requests.
//
// A client that sends requests without reading fills the answers first. The
// server then stops processing its requests. When these have filled up too, the
// server stops reading the connection, and the client's writes block, as with
// any TCP server. Each bound is exceeded by at most one answer or request.
const maxUnsent = 4 << 20

// frameCost is the cost of a request in addition to its bytes: a client may
// send many empty frames.
const frameCost = 100

// chunk is how many bytes are read or written at once.
const chunk = 64 << 10

// sendRecords sends records to the client after delay and everything before it.
func (c *conn) sendRecords(delay time.Duration, records ...[]byte) {
	c.s.stats.PacketsSent += len(records)
	if c.deaf && c.unsent.Load() > maxUnsent {
		return
	}
	frames := jute.Frames(records...)
	c.s.stats.BytesSent += int64(len(frames))
	c.pushOut(frames, delay)
}

func (c *conn) pushOut(b []byte, delay time.Duration) {
	c.unsent.Add(int64(len(b)))
	c.out.Push(delay, func() { c.wire.send(b) })
}

// Full implements ensemble.Sink: the client must read before its next request
// is processed. Requests sent before the client closed its end still take
// effect; their answers are discarded.
func (c *conn) Full() bool { return !c.deaf && c.unsent.Load() > maxUnsent }

// Answered implements ensemble.Sink: requests have left the server's queue.
func (c *conn) Answered() {
	if !c.crammedLocked() {
		c.room.Broadcast()
	}
}

// noteSent notes that n bytes have left for the client. Call noteSent without
// the server's mu. Only the call that crosses the bound takes mu: among the
// calls lowering unsent there is exactly one.
func (c *conn) noteSent(n int) {
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

// resumeLocked asks the loop to process the waiting requests. Processing may
// call hooks, so resumeLocked does not process them directly.
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

// clearLocked discards everything in flight in both directions.
func (c *conn) clearLocked() {
	c.in.Clear()
	c.out.Clear()
	c.waiting = 0
	c.room.Broadcast()
}
