package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// fullSocket is a connection whose Writes wait while it is full.
type fullSocket struct {
	net.Conn
	full *atomic.Pointer[chan struct{}]
}

func (c fullSocket) Write(p []byte) (int, error) {
	if emptied := c.full.Load(); emptied != nil {
		<-*emptied
	}
	return c.Conn.Write(p)
}

// creates begins to create n nodes, and returns, once all are answered, how
// each of them ended.
func (w *world) creates(n int) (wait func() []error) {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		// Waited for by wait; ends when the session has at the latest.
		all.Go(func() {
			_, errs[i] = w.s.Create(w.ctx, fmt.Sprintf("/n-%d", i), nil, Persistent, nil)
		})
	}
	return func() []error {
		all.Wait()
		return errs
	}
}

// checkCreates checks the results of creates against the server's final state.
func (w *world) checkCreates(errs []error) {
	w.Helper()
	w.sleep(time.Minute)
	for i, err := range errs {
		path := fmt.Sprintf("/n-%d", i)
		switch there := w.exists(path); {
		case err == nil:
			assert.True(w, there, "%s was reported as done", path)
		case !errors.Is(err, ErrUnknownOutcome):
			assert.False(w, there, "%s was reported as not done: %v", path, err)
		}
	}
}

// A request fills the socket, other requests wait behind it, and the session is
// closed: the close request must not carry the waiting requests out.
func TestCloseCarriesOutNothingThatItReportedAsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, srv.Close()) }()
		w := &world{T: t, srv: srv, ctx: t.Context()}
		var full atomic.Pointer[chan struct{}]
		dial := srv.Client("")
		w.client = w.connect("", &Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			raw, err := dial(ctx, network, addr)
			return fullSocket{raw, &full}, err
		}})
		w.s = w.session(w.client)
		emptied := make(chan struct{})
		full.Store(&emptied)
		w.s.StartExists("/", false)
		synctest.Wait() // its bytes wait for the socket
		wait := w.creates(5)
		synctest.Wait()
		closed := make(chan struct{})
		// Waited for below; ends when Close has, within a minute.
		go func() {
			defer close(closed)
			w.close(w.client)
		}()
		time.Sleep(10 * time.Millisecond)
		full.Store(nil)
		close(emptied)
		errs := wait()
		<-closed
		for _, err := range errs {
			require.ErrorIs(t, err, ErrClosed)
		}
		w.checkCreates(errs)
	})
}

// The same without help: creates beside Close, at all moments.
func TestCreatesBesideCloseAreReportedHonestly(t *testing.T) {
	const creates = 40
	for round := range rounds(60) {
		inWorld(t, nil, nil, func(w *world) {
			wait := w.creates(creates)
			for range round % 30 * 10 {
				runtime.Gosched()
			}
			w.close(w.client)
			w.checkCreates(wait())
		})
	}
}
