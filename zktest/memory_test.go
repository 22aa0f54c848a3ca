package zktest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func contextOf() context.Context { return context.Background() }

func TestMemoryConnectionsKeepTheContractOfNetConn(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		c, err := s.Dial(t.Context(), "tcp", s.Addr())
		require.NoError(t, err)
		require.Equal(t, s.Addr(), c.RemoteAddr().String())
		require.NotEqual(t, c.LocalAddr().String(), c.RemoteAddr().String())

		begin := time.Now()
		require.NoError(t, c.SetDeadline(begin.Add(3*time.Second)))
		require.NoError(t, c.SetWriteDeadline(begin.Add(-time.Second)), "writes never wait")
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(begin))
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the deadline stays passed")

		// A deadline set during a read applies to this read.
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		got := make(chan error, 1)
		// The receive below waits for the read; the deadline ends the read.
		go func() {
			_, err := c.Read(make([]byte, 1))
			got <- err
		}()
		synctest.Wait()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
		require.ErrorIs(t, <-got, os.ErrDeadlineExceeded)

		// Closing wakes a reader.
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		// The receive below waits for the read; Close ends the read.
		go func() {
			_, err := c.Read(make([]byte, 1))
			got <- err
		}()
		synctest.Wait()
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-got, net.ErrClosed)
		require.ErrorIs(t, c.Close(), net.ErrClosed)
		_, err = c.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestMemoryConnectionsDeliverWhatCameBeforeTheEnd(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		a.send(proto.OpExists, pathWatch("/", false))
		a.send(proto.OpCloseSession, nil)
		synctest.Wait()
		require.EqualValues(t, 1, a.receiveReply().xid)
		require.EqualValues(t, 2, a.receiveReply().xid)
		_, err := a.conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		_, err = a.conn.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
	})
}

func TestMemoryReadsMayBeSmall(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		c, err := s.Dial(t.Context(), "tcp", s.Addr())
		require.NoError(t, err)
		for _, b := range []byte("ruok") {
			_, err = c.Write([]byte{b})
			require.NoError(t, err)
		}
		var text []byte
		for {
			one := make([]byte, 1)
			n, err := c.Read(one)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			text = append(text, one[:n]...)
		}
		require.Equal(t, "imok", string(text))
	})
}

func TestCancelledDialsReturn(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Dial(ctx, "tcp", s.Addr())
		require.ErrorIs(t, err, context.Canceled)
		s.BlackHole(zktest.Link{}, zktest.Both)
		got := make(chan error, 1)
		// The receive below waits for Dial; Close ends Dial.
		go func() {
			_, err := s.Dial(context.Background(), "tcp", s.Addr())
			got <- err
		}()
		synctest.Wait()
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-got, zktest.ErrClosed)
	})
}

func TestPermissionsAsGoZookeeperUsesThem(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		alice, bob := connect(t, s, 10*time.Second), connect(t, s, 10*time.Second)
		require.NoError(t, alice.AddAuth("digest", []byte("alice:secret")))
		_, err := alice.Create("/private", []byte("x"), 0, zk.AuthACL(zk.PermAll))
		require.NoError(t, err)
		_, _, err = bob.Get("/private")
		require.ErrorIs(t, err, zk.ErrNoAuth)
		_, err = bob.Set("/private", nil, -1)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		_, err = bob.Create("/private/a", nil, 0, zk.WorldACL(zk.PermAll))
		require.ErrorIs(t, err, zk.ErrNoAuth)
		_, _, err = bob.Exists("/private")
		require.NoError(t, err, "existence is no secret")
		require.NoError(t, bob.AddAuth("digest", []byte("alice:wrong")))
		_, _, err = bob.Get("/private")
		require.ErrorIs(t, err, zk.ErrNoAuth)

		_, err = alice.SetACL("/private", append(zk.AuthACL(zk.PermAll), zk.WorldACL(zk.PermRead)...), 0)
		require.NoError(t, err)
		_, _, err = bob.Get("/private")
		require.NoError(t, err)
		acl, _, err := bob.GetACL("/private")
		require.NoError(t, err)
		require.Equal(t, "alice:x", acl[0].ID, "the hash is for administrators")
		acl, _, err = alice.GetACL("/private")
		require.NoError(t, err)
		require.Equal(t, zk.DigestACL(zk.PermAll, "alice", "secret"), acl[:1])

		// Credentials are sent again after a reconnect.
		s.CutAll()
		alice.waitState(t, zk.StateHasSession)
		_, err = alice.Set("/private", []byte("y"), -1)
		require.NoError(t, err)
		_, err = bob.Create("/q", nil, 0, []zk.ACL{{Perms: 31, Scheme: "martian", ID: "x"}})
		require.ErrorIs(t, err, zk.ErrInvalidACL)
	})
}

func TestGoZookeeperKeepsItsWatchesOverReconnects(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		c := connect(t, s, 10*time.Second)
		require.NoError(t, s.Create("/a", nil))
		require.NoError(t, s.Create("/b", nil))
		_, _, gone, err := c.GetW("/a")
		require.NoError(t, err)
		_, _, kids, err := c.ChildrenW("/b")
		require.NoError(t, err)
		_, _, born, err := c.ExistsW("/c")
		require.NoError(t, err)
		_, _, later, err := c.ExistsW("/d")
		require.NoError(t, err)
		s.CutAll()
		require.NoError(t, s.Delete("/a"))
		require.NoError(t, s.Create("/b/x", nil))
		require.NoError(t, s.Create("/c", nil))
		require.Equal(t, zk.EventNodeDeleted, (<-gone).Type)
		require.Equal(t, zk.EventNodeChildrenChanged, (<-kids).Type)
		require.Equal(t, zk.EventNodeCreated, (<-born).Type)
		require.NoError(t, s.Create("/d", nil))
		require.Equal(t, zk.EventNodeCreated, (<-later).Type)
		require.Zero(t, s.Stats().Watches)
	})
}
