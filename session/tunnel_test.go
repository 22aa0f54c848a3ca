package session

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tunnel is a connection through golang.org/x/crypto/ssh at its worst: it has no deadlines, and
// while the SSH connection is silent, Close blocks and ends nothing.
type tunnel struct {
	net.Conn

	over context.Context // the SSH connection's
}

func (c tunnel) Close() error {
	<-c.over.Done()
	return c.Conn.Close()
}

var errNoDeadline = errors.New("ssh: tcpChan: deadline not supported")

func (tunnel) SetDeadline(time.Time) error      { return errNoDeadline }
func (tunnel) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (tunnel) SetWriteDeadline(time.Time) error { return errNoDeadline }

// Through an SSH tunnel, too, a silent server costs the connection, and no more.
func TestConnectionsWithoutDeadlines(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		over, end := context.WithCancel(w.ctx)
		defer end()
		dial := w.srv.Client("tunnel")
		c := w.connect("", &Options{Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return tunnel{conn, over}, nil
		}})
		defer w.close(c)
		hold := w.createHeld(w.session(c), "/held")
		before := c.State()
		w.sleep(10 * time.Minute)
		require.Equal(w, before.Since, c.State().Since, "an idle connection stays")
		for range 3 {
			before = c.State()
			w.srv.BlackHole(zktest.Link{Client: "tunnel", Server: serverOf(w, before.Server)}, zktest.Both)
			w.sleep(10 * time.Second)
			w.srv.Heal()
			assert.Equal(w, Connected, c.State().Status)
			assert.NotEqual(w, before.Server, c.State().Server, "it goes to another server")
			_, err := w.session(c).Set(w.within(time.Second), "/held", nil, -1)
			require.NoError(w, err)
		}
		require.NoError(w, hold.Context().Err())
		hold.End(nil)
	})
}

// serverOf is the number of the server with an address.
func serverOf(w *world, addr string) int {
	for i := 1; ; i++ {
		if w.srv.ServerAddr(i) == addr {
			return i
		}
	}
}

// A connection without deadlines gets them, and keeps its addresses; others stay as they are.
func TestDeadlinesOfTunnels(t *testing.T) {
	for name, call := range map[string]func(net.Conn) error{
		"read":  func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c net.Conn) error { _, err := c.Write(make([]byte, 1)); return err },
	} {
		here, there := net.Pipe()
		require.Equal(t, here, withDeadlines(here))
		conn := withDeadlines(tunnel{here, t.Context()})
		require.Equal(t, here.RemoteAddr(), conn.RemoteAddr())
		require.NoError(t, conn.SetDeadline(time.Now().Add(-time.Second)))
		require.ErrorIs(t, call(conn), os.ErrDeadlineExceeded, name)
		require.NoError(t, conn.Close())
		require.NoError(t, there.Close())
	}
}
