package wire

import "time"

// handshakeFailed notes that a handshake has ended without an answer, and returns when
// the first one to do so since the session last had a connection was sent: zero if there
// was no session to be had back, or this end of the connection was closed on purpose.
func (c *conn) handshakeFailed() time.Time {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.cause != nil || c.machine.phase != awaiting || l.mem.sid == 0 || l.ended != nil {
		return time.Time{}
	}
	if l.refusedSince.IsZero() {
		l.refusedSince = c.machine.greeted
	}
	return l.refusedSince
}

// sentHandshake reports whether the server has been sent a handshake on this connection,
// which is open.
func (c *conn) sentHandshake() bool {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.cause == nil && c.machine.phase != greeting
}
