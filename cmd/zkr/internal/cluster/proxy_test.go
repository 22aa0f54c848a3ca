//go:build unix

package cluster

import (
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo is an echo server.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	// Only the test of leaks waits for the goroutine; ends with the listener.
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			// Only the test of leaks waits for the goroutine; ends with the
			// connection.
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
}

func hear(t *testing.T, c net.Conn, text string) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(limit)))
	got := make([]byte, len(text))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	assert.Equal(t, text, string(got))
}

// silent asserts that no bytes arrive.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout(), "no end, no reset: %v", err)
}

func TestCutIsSilentAndHealLosesNothing(t *testing.T) {
	p, err := NewProxy(context.Background(), echo(t)+"/chroot/a")
	require.NoError(t, err)
	defer p.Close()
	address, ok := strings.CutSuffix(p.Servers(), "/chroot/a")
	require.True(t, ok)
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	say(t, c, "one")
	hear(t, c, "one")
	assert.False(t, p.IsCut())

	p.Cut()
	p.Cut()
	assert.True(t, p.IsCut())
	say(t, c, "two")
	silent(t, c)
	late, err := net.Dial("tcp", address)
	require.NoError(t, err, "connections are accepted")
	defer late.Close()
	say(t, late, "three")
	silent(t, late)

	p.Heal()
	p.Heal()
	hear(t, c, "two")
	hear(t, late, "three")
}

// TestClosedConnectionDoesNotComeBackWithHeal: a node cut off dials repeatedly, and
// gives up each time; no such connection may reach the server.
func TestClosedConnectionDoesNotComeBackWithHeal(t *testing.T) {
	p, err := NewProxy(context.Background(), echo(t))
	require.NoError(t, err)
	defer p.Close()
	p.Cut()
	gone, err := net.Dial("tcp", p.Servers())
	require.NoError(t, err)
	defer gone.Close()
	say(t, gone, "hello")
	silent(t, gone)
	require.NoError(t, gone.(*net.TCPConn).CloseWrite())
	require.NoError(t, gone.SetReadDeadline(time.Now().Add(dialLimit/2)))
	_, err = gone.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "dropped while the cut lasts")

	// A connection waiting longer than patience is dropped, too.
	impatient := &Proxy{open: make(chan struct{}), patience: 20 * time.Millisecond, done: context.Background()}
	near, far := net.Pipe()
	defer near.Close()
	impatient.relay(far, "127.0.0.1:1")
	_, err = near.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestProxyStandsBeforeEachServer(t *testing.T) {
	p, err := NewProxy(context.Background(), echo(t)+", "+echo(t)+",127.0.0.1")
	require.NoError(t, err)
	addresses := strings.Split(p.Servers(), ",")
	require.Len(t, addresses, 3)
	for i, a := range addresses[:2] {
		c, err := net.Dial("tcp", a)
		require.NoError(t, err)
		say(t, c, strings.Repeat("x", i+1))
		hear(t, c, strings.Repeat("x", i+1))
		defer c.Close()
	}
	p.Cut()
	p.Close() // also through a cut, with connections open
	_, err = net.Dial("tcp", addresses[0])
	require.Error(t, err)
}

// failing is a listener whose first accepts fail.
type failing struct {
	net.Listener
	failures int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.failures--; f.failures >= 0 {
		return nil, syscall.EMFILE
	}
	return f.Listener.Accept()
}

// A failed accept does not end the accepting.
func TestProxyGoesOnAfterAFailedAccept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host := echo(t)
	p, err := NewProxy(t.Context(), host)
	require.NoError(t, err)
	// Waited for by Close; ends with the listener.
	p.running.Go(func() { p.accept(&failing{l, 2}, host) })
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	say(t, c, "hello")
	hear(t, c, "hello")
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	p.Close()
}
