package zktest

import (
	"net"
	"sync"
)

// socket is the server's end of a TCP connection.
type socket struct {
	conn net.Conn

	// mu guards the rest. It may be taken while the server's mu is held, never
	// the other way round.
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
	_ = w.conn.Close() // ends the reader, and the writer if it is in Write
}

// write sends what is queued until the connection ends.
func (w *socket) write() {
	defer func() { _ = w.conn.Close() }()
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.ending {
			w.ready.Wait()
		}
		todo, last := w.queue, w.ending
		w.queue = nil
		if w.broken {
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		var batch []byte
		for _, b := range todo {
			batch = append(batch, b...)
		}
		if len(batch) > 0 {
			if _, err := w.conn.Write(batch); err != nil {
				w.close()
				return
			}
		} else if last {
			return
		}
	}
}

// serveLocked accepts the clients of server i.
func (s *Server) serveLocked(i int, l net.Listener) {
	// Close waits for it; closing the listener, in Close and Stop, ends it.
	s.tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.welcome(i, c)
		}
	})
}

func (s *Server) welcome(i int, nc net.Conn) {
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
	// Close waits for it; the end of the connection, or a reset, ends it.
	s.tasks.Go(func() {
		w.write()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sockets, w)
	})
	// Close waits for it; the end of the connection, or a reset, ends it.
	s.tasks.Go(func() { s.read(c, nc) })
}

func (s *Server) read(c *conn, nc net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := nc.Read(buf)
		s.mu.Lock()
		if n > 0 {
			c.receivedLocked(buf[:n])
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
