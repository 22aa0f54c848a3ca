package zktest

import (
	"errors"
	"net"
	"sync"
	"time"
)

// socket is the server's end of a TCP connection.
type socket struct {
	conn net.Conn

	// mu guards the rest. Lock order: the server's mu, then this mu.
	mu     sync.Mutex
	ready  *sync.Cond
	queue  [][]byte
	ending bool // close when the queue is empty
	broken bool
}

func newSocket(c net.Conn) *socket {
	w := &socket{conn: c}
	w.ready = sync.NewCond(&w.mu)
	return w
}

func (w *socket) send(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ending {
		w.queue = append(w.queue, b)
		w.ready.Signal()
	}
}

func (w *socket) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	w.ready.Signal()
}

func (w *socket) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending, w.broken = true, true
	w.ready.Signal()
	_ = w.conn.Close() // ends the reader, and a writer blocked in Write
}

// writeQueued sends the queued bytes until the connection ends. After each write to
// the connection, write calls sent, without locks, with the number of written
// bytes.
func (w *socket) writeQueued(sent func(n int)) {
	defer func() { _ = w.conn.Close() }()
	var buf []byte
	for {
		if cap(buf) > chunk/16 {
			buf = nil // an idle connection keeps no large buffer
		}
		buf = w.nextChunk(buf[:0])
		if len(buf) == 0 {
			return
		}
		if _, err := w.conn.Write(buf); err != nil {
			w.reset()
			return
		}
		sent(len(buf))
	}
}

// nextChunk waits for bytes to write and returns at most a chunk of them, small
// frames together in p; none when the connection ends.
func (w *socket) nextChunk(p []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.ending {
		w.ready.Wait()
	}
	if w.broken || len(w.queue) == 0 {
		w.queue = nil
		return nil
	}
	if first := w.queue[0]; len(first) > chunk {
		w.queue[0] = first[chunk:]
		return first[:chunk:chunk]
	}
	for len(w.queue) > 0 && len(p)+len(w.queue[0]) <= chunk {
		p = append(p, w.queue[0]...)
		w.queue[0] = nil
		w.queue = w.queue[1:]
	}
	return p
}

// acceptPause is the first pause after a failed accept; every further failure
// in a row doubles it, up to acceptPauseMax.
const acceptPause, acceptPauseMax = 5 * time.Millisecond, time.Second

// serveLocked accepts the clients of server i.
func (s *Server) serveLocked(i int, l net.Listener) {
	// Close waits for the goroutine; closing the listener, in Close and Stop,
	// ends the goroutine.
	s.tasks.Go(func() { s.acceptClients(i, l) })
}

// acceptClients returns when l is closed. Every other failure is temporary: the
// process is out of file descriptors, or the client disconnected before being
// accepted. The first of several failures in a row is logged.
func (s *Server) acceptClients(i int, l net.Listener) {
	pause := acceptPause
	for failed := false; ; {
		c, err := l.Accept()
		if err == nil {
			failed, pause = false, acceptPause
			s.startSocket(i, c)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if !failed {
			failed = true
			s.opt.Logger.Warn("cannot accept a connection, retrying", "server", i, "error", err)
		}
		select {
		case <-time.After(pause):
		case <-s.loop.done:
			return
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

func (s *Server) startSocket(i int, nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := newSocket(nc)
	var c *conn
	if !s.closed {
		c = s.acceptLocked(i, w, "", nc.RemoteAddr())
	}
	if c == nil {
		_ = nc.Close()
		return
	}
	s.sockets[w] = true
	// Close waits for the writer; the end of the connection, or a reset, ends
	// the writer.
	s.tasks.Go(func() {
		w.writeQueued(c.noteSent)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sockets, w)
		c.deafenLocked()
	})
	// Close waits for the reader; the end of the connection, or a reset, ends
	// the reader.
	s.tasks.Go(func() { s.readRequests(c, nc) })
}

func (s *Server) readRequests(c *conn, nc net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := nc.Read(buf)
		s.mu.Lock()
		if n > 0 {
			c.receivedLocked(buf[:n])
		}
		for err == nil && c.crammedLocked() {
			c.room.Wait()
		}
		if err != nil {
			c.hungUpLocked()
			if c.dead {
				c.wire.reset()
			}
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// listenAgainLocked opens the listener of server i after Stop.
func (s *Server) listenAgainLocked(i int) error {
	if s.opt.InMemory || s.listeners[i-1] != nil {
		return nil
	}
	l, err := net.Listen("tcp", s.addrs[i-1])
	if err != nil {
		return err
	}
	s.listeners[i-1] = l
	s.serveLocked(i, l)
	return nil
}
