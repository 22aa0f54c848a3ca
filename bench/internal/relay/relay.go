// Package relay delays the bytes of TCP connections, as a network between two
// machines does. The order of the bytes is kept, and no bandwidth limit exists.
package relay

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// chunk is the most bytes that one read forwards.
	chunk = 64 << 10
	// inFlight is how many reads of all connections can be in flight, and how many that have
	// arrived one connection may leave unread before it is closed.
	inFlight = 64 << 10
	unread   = 4096
)

// Relay is a listening relay.
type Relay struct {
	listener net.Listener
	target   string
	delay    time.Duration
	accepted errgroup.Group
	// underway has the data of all connections, in the order of their arrival. One goroutine
	// waits for them: a sleep in each of a thousand goroutines would keep the processors from
	// those that have something to do.
	underway  chan parcel
	delivered errgroup.Group
	ended     sync.Once

	mu    sync.Mutex // guards conns and done
	conns map[net.Conn]bool
	done  bool
}

// Start listens on a free port of the loopback interface, connects each client to
// target, and delivers each byte delay after its arrival, in both directions.
func Start(target string, delay time.Duration) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: l, target: target, delay: delay, conns: make(map[net.Conn]bool), underway: make(chan parcel, inFlight)}
	// Waited for by Close; ends when all connections have ended.
	r.delivered.Go(r.deliver)
	// Waited for by Close; ends when the listener is closed.
	r.accepted.Go(r.accept)
	return r, nil
}

// Addr is the address for clients.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Close closes the relay with all its connections, and returns when no goroutine of
// the relay runs any more.
func (r *Relay) Close() error {
	err := r.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // closed before
	}
	r.mu.Lock()
	r.done = true
	for c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	err = errors.Join(err, r.accepted.Wait())
	r.ended.Do(func() { close(r.underway) })
	return errors.Join(err, r.delivered.Wait())
}

// deliver passes all data on when they are due.
func (r *Relay) deliver() error {
	for p := range r.underway {
		sleep(time.Until(p.due))
		if p.data == nil {
			close(p.to)
			continue
		}
		select {
		case p.to <- p.data:
		default:
			p.conn.Close() // the other end does not read
		}
	}
	return nil
}

func (r *Relay) accept() error {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		if !r.keep(client) {
			return nil
		}
		// Waited for by Close; ends with either connection.
		r.accepted.Go(func() error {
			defer r.dropConn(client)
			server, err := net.Dial("tcp", r.target)
			if err != nil || !r.keep(server) {
				return nil // the client sees the end of its connection
			}
			defer r.dropConn(server)
			r.join(client, server)
			return nil
		})
	}
}

// keep notes c for Close, or closes c if the relay is closed.
func (r *Relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		c.Close()
		return false
	}
	r.conns[c] = true
	return true
}

func (r *Relay) dropConn(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Close()
	delete(r.conns, c)
}

// join forwards in both directions until one of them ends.
func (r *Relay) join(a, b net.Conn) {
	both, ctx := errgroup.WithContext(context.Background())
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		// Waited for below; ends when one of the connections is closed.
		both.Go(func() error { return r.forward(way[1], way[0]) })
	}
	stop := context.AfterFunc(ctx, func() { // one direction has ended
		a.Close()
		b.Close()
	})
	defer stop()
	_ = both.Wait()
}

// parcel is data on its way to a connection; nil is the end of the data.
type parcel struct {
	data []byte
	due  time.Time
	to   chan<- []byte
	conn net.Conn
}

// forward returns an error in all cases: the end of the connection ends both
// directions.
func (r *Relay) forward(to, from net.Conn) error {
	var way errgroup.Group
	arrived := make(chan []byte, unread)
	// Waited for below; ends with from.
	way.Go(func() error {
		buf := make([]byte, chunk)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				r.underway <- parcel{slices.Clone(buf[:n]), time.Now().Add(r.delay), arrived, to}
			}
			if err != nil {
				r.underway <- parcel{nil, time.Now().Add(r.delay), arrived, to}
				return err
			}
		}
	})
	for data := range arrived {
		if _, err := to.Write(data); err != nil {
			break // the other direction ends, and closes from
		}
	}
	return way.Wait()
}
