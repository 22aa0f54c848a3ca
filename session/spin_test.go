package session

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// slowToClose is a connection whose Close waits until released, like TLS to a
// server that does not read.
type slowToClose struct {
	net.Conn
	closing, let chan struct{}
	told         *atomic.Bool
}

func (c slowToClose) Close() error {
	if c.told.CompareAndSwap(false, true) {
		close(c.closing)
		<-c.let
	}
	return c.Conn.Close()
}

// counted counts the checks of a context: an operation checks its context
// before each attempt.
type counted struct {
	context.Context
	looks *atomic.Int64
}

func (c counted) Err() error {
	c.looks.Add(1)
	return c.Context.Err()
}

// Between a connection's end and its being told nothing can be sent, and
// waiting for a connection does not wait.
func TestACallWhileAConnectionClosesWaitsAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, srv.Close()) }()
		w := &world{T: t, srv: srv, ctx: t.Context()}
		closing, let := make(chan struct{}), make(chan struct{})
		var told atomic.Bool
		dial := srv.Client("")
		w.client = w.connect("", &Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			raw, err := dial(ctx, network, addr)
			return slowToClose{raw, closing, let, &told}, err
		}})
		defer w.close(w.client)
		w.s = w.session(w.client)
		dropped, done := make(chan struct{}), make(chan error, 1)
		// Waited for below; ends when the connection is let go.
		go func() {
			defer close(dropped)
			w.s.link.Drop(assert.AnError)
		}()
		<-closing
		var looks atomic.Int64
		// Waited for below; ends on the next connection.
		go func() {
			_, _, err := w.s.Exists(counted{w.ctx, &looks}, "/")
			done <- err
		}()
		for i := 0; i < 20_000 && looks.Load() < 1000; i++ {
			runtime.Gosched()
		}
		assert.Less(t, looks.Load(), int64(100))
		close(let)
		<-dropped
		require.NoError(t, <-done)
	})
}
