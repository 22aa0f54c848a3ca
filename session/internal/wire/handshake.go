package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// handleConnect takes go-zookeeper's connect request and returns the bytes to send instead.
// go-zookeeper sees few of the session's replies, so the zxid that it reports is
// replaced: with a low one, a server that lags behind would accept the session and show
// it the past. The byte behind the password, which go-zookeeper leaves out, says whether a
// server without a quorum will do; a server logs a warning for each connection without
// the byte.
func (m *machine) handleConnect(frame []byte, now time.Time) ([]byte, error) {
	const fixed = 4 + 8 + 4 + 8 // protocol, last zxid, timeout, session id
	if m.phase != greeting || len(frame) < fixed {
		return nil, fmt.Errorf("%w: unexpected connect request", errProtocol)
	}
	if sid := int64(binary.BigEndian.Uint64(frame[16:])); sid != m.mem.sid {
		return nil, fmt.Errorf("%w: connect request for session %#x on the link of %#x", errProtocol, sid, m.mem.sid)
	}
	out := append([]byte(nil), frame...)
	binary.BigEndian.PutUint64(out[4:], uint64(max(m.mem.lastZxid, m.seen)))
	d := NewDecoder(frame[fixed:])
	if d.Bytes(); d.Err() == nil && d.Len() == 0 {
		out = append(out, 0)
		if m.reads {
			out[len(out)-1] = 1
		}
	}
	m.phase, m.greeted = awaiting, now
	return out, nil
}

// readConnectReply reads the answer to the connect request. first reports that the
// server has created the session.
func (m *machine) readConnectReply(frame []byte) (first bool, err error) {
	r, err := decodeConnectReply(frame)
	switch {
	case m.phase != awaiting:
		return false, fmt.Errorf("%w: unexpected connect reply", errProtocol)
	case m.reads && isRefusalToMakeASession(frame):
		return false, ErrNoLocalSessions
	case err != nil:
		return false, err
	case r.version == keeperRefusal && r.timeoutMs > 0:
		return false, errNoLeader
	case r.version == keeperRefusal && m.mem.sid != 0:
		// RaftKeeper says of every session that it has expired while it has no leader.
		return false, fmt.Errorf("%w: it refuses session %#x, and does not say whether it exists", ErrReplaced, m.mem.sid)
	case r.sid == 0 || r.timeoutMs <= 0:
		if m.mem.sid == 0 {
			return false, fmt.Errorf("%w: the server refused to make a session", errProtocol)
		}
		return false, ErrExpired
	case r.readOnly && !m.reads:
		return false, fmt.Errorf("%w: a server without a quorum has made a session that is not for reads", errProtocol)
	case m.mem.sid != 0 && r.sid != m.mem.sid:
		return false, fmt.Errorf("%w: it made session %#x instead of %#x", ErrReplaced, r.sid, m.mem.sid)
	}
	first = m.mem.sid == 0
	m.first = first
	m.mem.sid, m.mem.keeper, m.mem.readOnly = r.sid, r.keeper, r.readOnly
	m.mem.timeout = time.Duration(r.timeoutMs) * time.Millisecond
	m.phase = open
	return first, nil
}

// acceptWelcome deals with the answer to the handshake.
func (c *conn) acceptWelcome(frame []byte) error {
	c.link.mu.Lock()
	if c.cause != nil {
		c.link.mu.Unlock()
		return c.failure()
	}
	ended := c.link.ended != nil
	first, err := c.machine.readConnectReply(frame)
	if err != nil {
		c.link.mu.Unlock()
		if errors.Is(err, ErrReplaced) {
			c.sayFarewell()
		}
		if endsLink(err) {
			c.link.End(err, false)
		}
		return err
	}
	greeted := c.machine.greeted
	c.link.refusedSince = time.Time{}
	c.link.mu.Unlock()
	if !ended {
		if err := c.authenticate(); err != nil {
			if c.link.Ended() != nil || first {
				c.forgetSession()
			}
			if endsLink(err) {
				c.link.End(err, false)
			}
			return err
		}
	}
	if err := c.raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if ended {
		// The link was ended politely meanwhile: the session that the server has made,
		// or keeps, is closed by go-zookeeper.
		c.forward(frame)
		return nil
	}

	// A goroutine that sends from now on may be answered only after Attached returned:
	// this goroutine reads the answers.
	c.deliver.Lock()
	defer c.deliver.Unlock()
	if err := c.attach(); err != nil {
		return err
	}
	c.wake()
	c.link.cfg.Handler.Attached(greeted, first)
	c.forward(frame)
	return nil
}

// attach makes c the link's connection. Credentials, and then the opening request, go ahead of
// all others.
func (c *conn) attach() error {
	var opening *Call
	var body func(*Encoder)
	if c.link.cfg.Opening != nil {
		opening, body = c.link.cfg.Opening()
	}
	now := c.link.cfg.Now()
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for _, cred := range c.link.cfg.Credentials {
		c.out = c.machine.appendFrame(c.out, xidAuth, OpSetAuth, func(e *Encoder) {
			e.Int32(0)
			e.String(cred.Scheme)
			e.Bytes(cred.Auth)
		})
	}
	if opening != nil && c.link.ended == nil && c.cause == nil {
		var err error
		if c.out, err = c.machine.submit(c.out, opening, body, now, c.link.cfg.MaxRequest); err != nil {
			return err
		}
	}
	c.attached, c.link.failures = true, nil
	if c.link.ended == nil {
		c.link.current = c
	}
	return nil
}

// forgetSession closes a session that the server has just made, or resumed for a link that
// has ended. go-zookeeper has not heard of it, and asks for a new one on the next connection.
func (c *conn) forgetSession() {
	c.link.mu.Lock()
	c.link.mem.sid, c.link.mem.timeout = 0, 0
	c.link.mu.Unlock()
	c.sayFarewell()
}

// farewellTime bounds the write of a request that nothing waits for.
const farewellTime = 100 * time.Millisecond

// sayFarewell closes a session that nothing uses. If the write fails, the session expires.
func (c *conn) sayFarewell() {
	if c.raw.SetWriteDeadline(time.Now().Add(farewellTime)) != nil {
		return
	}
	c.link.mu.Lock()
	farewell := c.machine.appendFrame(nil, c.machine.takeXid(), OpCloseSession, nil)
	c.link.mu.Unlock()
	_, _ = c.raw.Write(farewell)
}
