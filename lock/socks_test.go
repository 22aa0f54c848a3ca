package lock_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// socksProxy is a SOCKS5 server without authentication (RFC 1928), in front of one server of a
// name that only the proxy can resolve.
type socksProxy struct {
	listener     net.Listener
	name, server string // "zk.internal", "127.0.0.1:1234"
	serving      sync.WaitGroup
	connections  atomic.Int64
}

func startSOCKS(t *testing.T, name, server string) *socksProxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &socksProxy{listener: l, name: name, server: server}
	t.Cleanup(p.serving.Wait)
	t.Cleanup(func() { _ = l.Close() })
	// Waited for by the clean-up, which ends it.
	p.serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			// Waited for by the clean-up; ends with the connection.
			p.serving.Go(func() { assert.NoError(t, p.serve(client)) })
		}
	})
	return p
}

// request is the greeting of a client, and what the client asks for.
func (p *socksProxy) request() (greeting, connect []byte) {
	connect = append([]byte{5, 1, 0, 3, byte(len(p.name))}, p.name...)
	return []byte{5, 1, 0}, append(connect, 2181>>8, 2181&0xff)
}

func (p *socksProxy) serve(client net.Conn) error {
	defer client.Close()
	greeting, connect := p.request()
	for _, step := range []struct{ want, answer []byte }{{greeting, []byte{5, 0}}, {connect, nil}} {
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, step.want) {
			return fmt.Errorf("the client says %q, not %q: %w", got, step.want, err)
		}
		if _, err := client.Write(step.answer); err != nil {
			return err
		}
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return err
	}
	defer server.Close()
	p.connections.Add(1)
	if _, err := client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	// Waited for by the clean-up; ends with the connection.
	p.serving.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	_, _ = io.Copy(client, server)
	return nil
}

// DialContext connects through the proxy.
func (p *socksProxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if address != p.name+":2181" {
		return nil, fmt.Errorf("the address is %q: only the proxy resolves names", address)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, p.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	greeting, connect := p.request()
	for _, step := range []struct {
		text   []byte
		answer int
	}{{greeting, 2}, {connect, 10}} {
		if _, err = conn.Write(step.text); err == nil {
			_, err = io.ReadFull(conn, make([]byte, step.answer))
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// takeTurns lets two clients take a lock in turns, with all connections lost in between.
func takeTurns(t *testing.T, server *zktest.Server, connect string, opts session.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	one := lock.New(world.Connect(t, connect, opts), dir, nil)
	other := lock.New(world.Connect(t, connect, opts), dir, nil)
	for range 3 {
		held, err := one.Lock(ctx)
		require.NoError(t, err)
		server.CutAll()
		_, err = other.TryLock(ctx)
		require.ErrorIs(t, err, lock.ErrBusy)
		require.NoError(t, held.Unlock(ctx))
		one, other = other, one
	}
}

func startTCP(t *testing.T) *zktest.Server {
	server, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	return server
}

func TestLockThroughASOCKSProxy(t *testing.T) {
	server := startTCP(t)
	proxy := startSOCKS(t, "zk.internal", server.Addr())
	takeTurns(t, server, "zk.internal", session.Options{Dialer: proxy.DialContext})
	require.GreaterOrEqual(t, proxy.connections.Load(), int64(8), "two clients, and three times again")
}

// A machine without IPv6 is reached by its IPv4 address in the form of IPv6.
func TestLockOverIPv6(t *testing.T) {
	server, err := zktest.Start(&zktest.Options{Addr: "[::1]:0"})
	var connect string
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, server.Close()) })
		connect = server.Addr()
	} else {
		server = startTCP(t)
		connect = "[::ffff:127.0.0.1]:" + strings.TrimPrefix(server.Addr(), "127.0.0.1:")
	}
	takeTurns(t, server, connect, session.Options{})
}
