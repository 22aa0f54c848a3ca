package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// readFrame reads one frame. A long one is read in pieces, so that a length
// alone does not make it allocate.
func (c *conn) readFrame() ([]byte, error) {
	if _, err := io.ReadFull(c.in, c.head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(c.head[:])))
	if size < 0 || size > int64(c.link.cfg.MaxFrame) {
		return nil, fmt.Errorf("%w: %w: the server announced a frame of %d bytes, the limit is %d", errProtocol, ErrReplyTooLarge, size, c.link.cfg.MaxFrame)
	}
	const piece = 64 << 10
	frame := make([]byte, 0, min(size, piece))
	for int64(len(frame)) < size {
		at := len(frame)
		n := min(size-int64(at), max(piece, int64(at)))
		frame = append(frame, make([]byte, n)...)
		if _, err := io.ReadFull(c.in, frame[at:]); err != nil {
			return nil, err
		}
	}
	return frame, nil
}

// patient reads from the connection, each time with a new deadline.
// go-zookeeper pings every third of the timeout: silence for two thirds means
// that the link or the server is gone. During the handshake its own deadline
// stays.
type patient struct{ c *conn }

func (p patient) Read(b []byte) (int, error) {
	if p.c.isOpen() && !p.c.authenticating {
		if err := p.c.raw.SetReadDeadline(time.Now().Add(p.c.link.Timeout() * 2 / 3)); err != nil {
			return 0, err
		}
	}
	return p.c.raw.Read(b)
}

// forward gives go-zookeeper the answer to its handshake, and lets requests out.
func (c *conn) forward(frame []byte) {
	// Not waited for. It ends when the connection is killed, which happens in
	// every way of losing the connection.
	go c.write()
	c.inbox = withLength(frame)
}

func (c *conn) wake() {
	select {
	case c.wakeup <- struct{}{}:
	default:
	}
}

// keptBuffer is the size of the largest buffer that the writer uses again.
const keptBuffer = 64 << 10

// write moves frames to the server until the connection dies. A goroutine of
// its own, so that no caller ever waits for a full socket.
func (c *conn) write() {
	var written []byte // a buffer for the next frames
	for {
		select {
		case <-c.wakeup:
		case <-c.dead:
			return
		}
		c.link.mu.Lock()
		frames := c.out
		if len(frames) > 0 {
			c.out, written = written[:0], nil
		}
		c.machine.markSent()
		limit := c.link.timeoutLocked() * 2 / 3
		c.link.mu.Unlock()
		if len(frames) == 0 {
			continue
		}
		err := c.raw.SetWriteDeadline(time.Now().Add(limit))
		if err == nil {
			_, err = c.raw.Write(frames)
		}
		if err != nil {
			c.kill(err)
			return
		}
		if cap(frames) <= keptBuffer {
			written = frames
		}
	}
}

func withLength(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame))), frame...)
}
