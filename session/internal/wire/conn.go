package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// conn is one connection of a link, as go-zookeeper sees it. go-zookeeper
// writes whole frames (each Write is one) and reads a length, then a body.
type conn struct {
	link *Link
	raw  net.Conn
	in   *bufio.Reader // of raw; a frame costs one system call, not two
	// machine, out, cause and attached are guarded by link.mu.
	machine  machine
	out      []byte // frames that the writer has not taken yet
	cause    error  // why the connection was closed, once it is
	attached bool

	wakeup  chan struct{} // cap 1: out is not empty, or the connection died
	dead    chan struct{} // closed by kill
	killing sync.Once

	// head is the length of the frame that is read. Only the reading goroutine touches it.
	head [4]byte
	// inbox is the part that go-zookeeper has not read yet of the last frame meant
	// for it. Only its reading goroutine touches it.
	inbox []byte
	// handshakeEnd is when the handshake must be over; written before its request is sent.
	handshakeEnd time.Time
	// mechanism authenticates the connection, if SASL is used; written before the request of
	// the handshake is sent.
	mechanism Mechanism
	// authenticating: the deadline of the handshake is that of SASL, too. Only the reading
	// goroutine touches it.
	authenticating bool

	// deliver serializes what the link's handler and the calls hear of this
	// connection: a connection's last word (gone) is Detached.
	deliver sync.Mutex
	gone    bool
}

// readBuffer holds many of the short answers that make up most traffic.
const readBuffer = 4 << 10

func newConn(l *Link, raw net.Conn) *conn {
	c := &conn{
		link: l, raw: raw, machine: machine{mem: &l.mem, pairs: l.cfg.PairPings, reads: l.cfg.ReadOnly},
		wakeup: make(chan struct{}, 1), dead: make(chan struct{}),
	}
	c.in = bufio.NewReaderSize(patient{c}, readBuffer)
	return c
}

// Write takes one frame from go-zookeeper. The first is its connect request.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) < 4 || int(binary.BigEndian.Uint32(p)) != len(p)-4 {
		return 0, fmt.Errorf("%w: go-zookeeper wrote a partial frame", errProtocol)
	}
	now := c.link.cfg.Now()
	c.link.mu.Lock()
	if c.cause != nil {
		defer c.link.mu.Unlock()
		return 0, c.cause
	}
	if c.machine.phase == open {
		c.out = c.machine.forward(c.out, p, now)
		c.wake()
		c.link.mu.Unlock()
		return len(p), nil
	}
	c.link.mu.Unlock()
	var seen int64
	if c.link.cfg.Seen != nil {
		seen = c.link.cfg.Seen()
	}
	c.link.mu.Lock()
	c.machine.seen = seen
	hello, err := c.machine.handleConnect(p[4:], now)
	limit := c.link.timeoutLocked() / 3
	c.link.mu.Unlock()
	if err != nil {
		c.kill(err)
		return 0, err
	}
	// One deadline for the whole handshake, both ways, whatever deadlines
	// go-zookeeper sets: a server that accepts and is then silent, or sends
	// half an answer, costs a third of the session timeout and no more.
	c.handshakeEnd = time.Now().Add(limit)
	if err := c.raw.SetDeadline(c.handshakeEnd); err != nil {
		return 0, err
	}
	if err := c.beginSASL(); err != nil {
		c.kill(err)
		return 0, err
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello...)
	if _, err := c.raw.Write(frame); err != nil {
		c.kill(err) // the reason of the failure, before go-zookeeper closes the connection
		return 0, err
	}
	return len(p), nil
}

// Read gives go-zookeeper the frames that are meant for it, and deals with all
// the others on its reading goroutine.
func (c *conn) Read(p []byte) (int, error) {
	for len(c.inbox) == 0 {
		frame, err := c.readFrame()
		if err == nil {
			err = c.accept(frame)
		}
		if err != nil {
			refusedSince := c.handshakeFailed()
			c.kill(err)
			c.detach()
			if !refusedSince.IsZero() {
				c.link.cfg.Handler.HandshakeFailed(refusedSince)
			}
			return 0, c.failure()
		}
	}
	n := copy(p, c.inbox)
	c.inbox = c.inbox[n:]
	return n, nil
}

// accept deals with one frame.
func (c *conn) accept(frame []byte) error {
	if !c.isOpen() {
		return c.acceptWelcome(frame)
	}
	c.link.mu.Lock()
	if c.cause != nil {
		c.link.mu.Unlock()
		return c.failure()
	}
	polite := c.link.ended != nil
	in, err := c.machine.receive(frame)
	// Only now the connection has shown that it is one: a server that takes
	// the session and drops it again must not be dialed without a pause.
	c.link.dials = 0
	c.link.mu.Unlock()
	if polite && errors.Is(err, errProtocol) && len(frame) >= headerSize {
		// The calls were abandoned when the link ended; their answers may
		// still come ahead of the close request's.
		return nil
	}
	if err != nil {
		if endsLink(err) {
			c.link.End(err, false)
		}
		return err
	}
	if in.forward {
		c.inbox = withLength(frame)
	}
	c.handOut(in)
	if in.call != nil && in.answer.Code == CodeAuthRequired { // the server closes the session
		c.link.End(ErrAuthRequired, false)
		return ErrAuthRequired
	}
	return nil
}

// handOut delivers a frame to the handler and the caller.
func (c *conn) handOut(in incoming) {
	c.deliver.Lock()
	defer c.deliver.Unlock()
	if c.gone {
		if in.call != nil {
			in.call.Done(Answer{Err: ErrUnanswered})
		}
		return
	}
	h := c.link.cfg.Handler
	switch {
	case in.event != nil:
		h.Event(*in.event)
	case in.call != nil:
		if in.answer.Code != CodeAuthRequired { // no sign of life
			h.Answered(in.answer.Sent, in.zxid, in.call.Commits && in.answer.Code == CodeOK)
		}
		in.call.Done(in.answer)
	case !in.touched.IsZero():
		h.Answered(in.touched, in.zxid, false)
	}
}

// kill closes the connection. The reader notices and detaches. kill does not
// wait for the close, which can take seconds (TLS sends an alert first), since
// its caller may have a lease to renew.
func (c *conn) kill(cause error) {
	c.killing.Do(func() {
		c.link.mu.Lock()
		c.cause = cause
		if !c.attached {
			c.link.failLocked(cause)
		}
		unplugged := c.link.current == c
		if unplugged {
			c.link.current = nil
		}
		c.link.mu.Unlock()
		if unplugged {
			c.link.cfg.Handler.Unplugged()
		}
		close(c.dead)
		// Waited for by Link.Wait; ends when the connection is closed, which
		// ends the reader. Nothing is left to do about a failed close.
		c.link.closing.Go(func() { _ = c.raw.Close() })
	})
}

// detach settles what the connection leaves behind, and ends a link that has no other.
func (c *conn) detach() {
	if c.noteAttached() && c.link.cfg.ReadOnly {
		c.link.End(fmt.Errorf("%w: %w", ErrReadOnlyOver, c.failure()), false)
	}
}

// noteAttached reports whether the connection was attached, the first time.
func (c *conn) noteAttached() bool {
	c.deliver.Lock()
	defer c.deliver.Unlock()
	if c.gone {
		return false
	}
	c.gone = true
	c.link.mu.Lock()
	unanswered, unsent := c.machine.abandon()
	attached, cause := c.attached, c.cause
	c.link.mu.Unlock()
	if errors.Is(cause, ErrReplyTooLarge) && len(unanswered) > 0 {
		// Answers come in order, so the reply that is too large belongs to the oldest
		// call. Its caller must know: repeating the call would cost the next connection
		// too.
		unanswered[0].Done(Answer{Err: ErrReplyTooLarge})
		unanswered = unanswered[1:]
	}
	settleAll(unanswered, unsent)
	if attached {
		c.link.cfg.Handler.Detached(cause)
	}
	return attached
}

// Close is go-zookeeper's.
func (c *conn) Close() error {
	c.kill(net.ErrClosed)
	c.detach()
	return nil
}

func (c *conn) failure() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.cause
}

func (c *conn) isOpen() bool {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.machine.phase == open
}

// Deadlines are ours; go-zookeeper's would count from the last frame that it
// got to see, not from the last one that arrived.

func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
func (c *conn) LocalAddr() net.Addr              { return c.raw.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr             { return c.raw.RemoteAddr() }
