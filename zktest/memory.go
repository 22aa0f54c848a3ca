package zktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memory is a client's end of an in-memory connection. Writes go into the
// server's queue and wait only while the queue is full; reads wait for bytes
// from the server. No goroutine serves the connection.
type memory struct {
	c             *conn
	local, remote net.Addr

	// mu guards the rest. Lock order: the server's mu, then this mu.
	mu   sync.Mutex
	wait *sync.Cond
	buf  []byte
	eof  bool // the server closed
	shut bool // the client closed
	// Deadlines of Read and Write, and the timers that wake the waiting calls.
	until, writeUntil time.Time
	alarm, writeAlarm *time.Timer
}

func newMemory(local, remote net.Addr) *memory {
	m := &memory{local: local, remote: remote}
	m.wait = sync.NewCond(&m.mu)
	return m
}

func (m *memory) send(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.eof && !m.shut {
		m.buf = append(m.buf, b...)
		m.wait.Broadcast()
	}
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.eof = true
	m.wait.Broadcast()
}

func (m *memory) reset() { m.close() }

// Read implements net.Conn.
func (m *memory) Read(p []byte) (int, error) {
	n, err := m.readBuffered(p)
	if n > 0 {
		m.c.noteSent(n)
	}
	return n, err
}

func (m *memory) readBuffered(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		switch {
		case m.shut:
			return 0, m.opError("read", net.ErrClosed)
		case !m.until.IsZero() && !time.Now().Before(m.until):
			return 0, m.opError("read", os.ErrDeadlineExceeded)
		case len(m.buf) > 0:
			n := copy(p, m.buf)
			m.buf = m.buf[n:]
			if len(m.buf) == 0 {
				m.buf = nil
			}
			return n, nil
		case m.eof:
			return 0, io.EOF
		}
		m.wait.Wait()
	}
}

// Write implements net.Conn.
func (m *memory) Write(p []byte) (int, error) {
	m.c.s.mu.Lock()
	defer m.c.s.mu.Unlock()
	for n := 0; ; {
		if err := m.checkWritable(); err != nil {
			return n, err
		}
		if m.c.crammedLocked() {
			if m.writeExpired() {
				return n, m.opError("write", os.ErrDeadlineExceeded)
			}
			m.c.room.Wait()
			continue
		}
		k := min(len(p)-n, chunk)
		m.c.receivedLocked(p[n : n+k])
		if n += k; n == len(p) {
			return n, nil
		}
	}
}

// checkWritable returns the error of a Write if an end is closed.
func (m *memory) checkWritable() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.shut:
		return m.opError("write", net.ErrClosed)
	case m.eof:
		return m.opError("write", syscall.EPIPE)
	}
	return nil
}

func (m *memory) writeExpired() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.writeUntil.IsZero() && !time.Now().Before(m.writeUntil)
}

// Close implements net.Conn.
func (m *memory) Close() error {
	m.mu.Lock()
	if m.shut {
		m.mu.Unlock()
		return m.opError("close", net.ErrClosed)
	}
	m.shut, m.buf = true, nil
	for _, alarm := range []*time.Timer{m.alarm, m.writeAlarm} {
		if alarm != nil {
			alarm.Stop()
		}
	}
	m.wait.Broadcast()
	m.mu.Unlock()
	m.c.s.mu.Lock()
	defer m.c.s.mu.Unlock()
	m.c.hungUpLocked()
	return nil
}

func (m *memory) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "memory", Source: m.local, Addr: m.remote, Err: err}
}

// LocalAddr implements net.Conn.
func (m *memory) LocalAddr() net.Addr { return m.local }

// RemoteAddr implements net.Conn.
func (m *memory) RemoteAddr() net.Addr { return m.remote }

// SetDeadline implements net.Conn.
func (m *memory) SetDeadline(t time.Time) error {
	_ = m.SetWriteDeadline(t)
	return m.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn. A write without a wait succeeds even
// after the deadline.
func (m *memory) SetWriteDeadline(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writeAlarm != nil {
		m.writeAlarm.Stop()
		m.writeAlarm = nil
	}
	m.writeUntil = t
	if !t.IsZero() && !m.shut {
		m.writeAlarm = time.AfterFunc(time.Until(t), func() {
			m.c.s.mu.Lock()
			defer m.c.s.mu.Unlock()
			m.c.room.Broadcast()
		})
	}
	return nil
}

// SetReadDeadline implements net.Conn.
func (m *memory) SetReadDeadline(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alarm != nil {
		m.alarm.Stop()
		m.alarm = nil
	}
	m.until = t
	m.wait.Broadcast()
	if !t.IsZero() && !m.shut {
		m.alarm = time.AfterFunc(time.Until(t), func() {
			// With the lock, or a reader between its look at the clock and its
			// wait would miss this.
			m.mu.Lock()
			defer m.mu.Unlock()
			m.wait.Broadcast()
		})
	}
	return nil
}

// dialAs implements Dial and Client.
func (s *Server) dialAs(ctx context.Context, network, addr, client string) (net.Conn, error) {
	if !s.opt.InMemory {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	i := 0
	for k, a := range s.addrs {
		if a == addr {
			i = k + 1
		}
	}
	if i == 0 {
		return nil, fmt.Errorf("zktest: dial %s: no such server: %w", addr, syscall.ECONNREFUSED)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("zktest: dial %s: %w", addr, err)
		}
		m, changed, err := s.tryConnect(i, client)
		if m != nil || err != nil {
			return m, err
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// tryConnect returns a connection or an error, or else a channel; retry when the
// channel is closed.
func (s *Server) tryConnect(i int, client string) (net.Conn, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, ErrClosed
	case s.dialHoleLocked(i, client):
		return nil, s.changed, nil
	}
	s.nextPort++
	local := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: s.nextPort}
	m := newMemory(local, &net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(i)), Port: 2181})
	if m.c = s.acceptLocked(i, m, client, local); m.c == nil {
		return nil, nil, fmt.Errorf("zktest: dial %s: %w", s.addrs[i-1], syscall.ECONNREFUSED)
	}
	return m, nil, nil
}
