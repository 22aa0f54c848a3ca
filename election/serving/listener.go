package serving

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Listener returns a listener that is open only while this process leads: it listens on
// address, as net.Listen does, at the begin of each leadership, and stops listening when no
// further request is admitted. Meanwhile Accept waits, and connections are refused. Use it
// together with [Leader.Handler], because connections outlive a leadership.
//
// Accept is for one goroutine at a time, as servers call it. Accept fails if the address
// cannot be listened on, which ends the Serve of most servers. Addr returns the given
// address until the listener is open for the first time. Give a fixed port: port 0 is
// another port each time.
func (l *Leader) Listener(network, address string) net.Listener {
	return &gatedListener{l: receiver.OrZero(l), at: givenAddr{network, address}, done: make(chan struct{})}
}

// gatedListener is the listener of [Leader.Listener].
type gatedListener struct {
	l    *Leader
	at   givenAddr
	done chan struct{} // closed by Close

	// mu guards the fields below, and the closing of done. Invariant: inner listens for the
	// term, or has ended with it.
	mu     sync.Mutex
	closed bool
	inner  net.Listener
	term   *term
}

// Accept waits for the leadership, and then for a connection.
func (g *gatedListener) Accept() (net.Conn, error) {
	if err := g.l.checkMade(); err != nil {
		return nil, fmt.Errorf("serving: listen on %s: %w", g.at, err)
	}
	for {
		t, changed := g.l.present()
		if t == nil {
			select {
			case <-changed:
				continue
			case <-g.done:
				return nil, g.closedError()
			}
		}
		inner, err := g.listen(t)
		if err == nil {
			var conn net.Conn
			if conn, err = inner.Accept(); err == nil {
				return conn, nil
			}
		}
		switch {
		case g.isClosed():
			return nil, g.closedError()
		case t.accepting.Err() == nil:
			return nil, err
		}
	}
}

// listen listens for the term, unless it does.
func (g *gatedListener) listen(t *term) (net.Listener, error) {
	g.mu.Lock()
	inner, isOpen := g.inner, g.term == t
	g.mu.Unlock()
	if isOpen {
		return inner, nil
	}
	inner, err := (&net.ListenConfig{}).Listen(t.accepting, g.at.network, g.at.address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(t.accepting, func() { inner.Close() })
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inner, g.term = inner, t
	if g.closed {
		inner.Close()
	}
	return inner, nil
}

func (g *gatedListener) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *gatedListener) closedError() error {
	return &net.OpError{Op: "accept", Net: g.at.network, Addr: g.at, Err: net.ErrClosed}
}

// Close closes the listener; an Accept in progress ends. The leadership goes on.
func (g *gatedListener) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	close(g.done)
	if g.inner != nil {
		g.inner.Close() // it may have ended with its term
	}
	return nil
}

// Addr returns the address that the listener listens on, or was given.
func (g *gatedListener) Addr() net.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inner != nil {
		return g.inner.Addr()
	}
	return g.at
}

// givenAddr is an address that is not listened on yet.
type givenAddr struct{ network, address string }

// Network is the name of the network.
func (a givenAddr) Network() string { return a.network }

func (a givenAddr) String() string { return a.address }
