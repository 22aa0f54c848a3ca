package lock_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// idleProxy drops connections that are idle for a time: it closes them, or it only forgets
// them, which the client learns when it writes.
type idleProxy struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	idle    time.Duration
	forgets bool
	dropped atomic.Int64
}

func (p *idleProxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &idleConn{Conn: conn, idle: p.idle}
	c.timer = time.AfterFunc(p.idle, func() {
		p.dropped.Add(1)
		if c.forgotten.Store(true); !p.forgets {
			_ = c.Close()
		}
	})
	return c, nil
}

type idleConn struct {
	net.Conn

	idle      time.Duration
	timer     *time.Timer
	forgotten atomic.Bool
}

func (c *idleConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.timer.Stop() {
		c.timer.Reset(c.idle)
	}
	return n, err
}

func (c *idleConn) Write(b []byte) (int, error) {
	if c.forgotten.Load() {
		return 0, syscall.ECONNRESET
	}
	if c.timer.Stop() {
		c.timer.Reset(c.idle)
	}
	return c.Conn.Write(b)
}

func (c *idleConn) Close() error {
	c.timer.Stop()
	return c.Conn.Close()
}

// A proxy that drops idle connections, as those of service meshes do, costs connections and no
// lock: the holder keeps the lock, and a waiting contender its place, until it gets the lock.
func TestLockBehindAProxyThatDropsIdleConnections(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, forgets := range []bool{false, true} {
		for _, idle := range []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second, 5 * time.Second} {
			t.Run(fmt.Sprintf("%v, forgets %v", idle, forgets), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					var proxies []*idleProxy
					var mutexes []*lock.Mutex
					for i := range 2 {
						p := &idleProxy{dial: w.Server.Client(fmt.Sprintf("c%d", i+1)), idle: idle, forgets: forgets}
						proxies = append(proxies, p)
						mutexes = append(mutexes, lock.New(w.ClientWith(session.Options{Dialer: p.DialContext}), dir, nil))
					}
					held := w.lock(mutexes[0])
					waiting := w.startLock(w.Ctx, mutexes[1])
					w.Pass(10 * time.Minute)
					require.NoError(w, held.Context().Err())
					require.Empty(w, waiting)
					t.Logf("dropped: %d of the holder, %d of the waiting contender", proxies[0].dropped.Load(), proxies[1].dropped.Load())
					if idle < session.DefaultTimeout/3 {
						assert.Positive(w, proxies[1].dropped.Load())
					} else {
						assert.Zero(w, proxies[0].dropped.Load()+proxies[1].dropped.Load())
					}
					w.unlock(held)
					next := <-waiting
					require.NoError(w, next.err)
					w.unlock(next.held)
				})
			})
		}
	}
}
