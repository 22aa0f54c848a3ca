package zktest_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// startMemory starts a server in memory; the server ends with the test.
func startMemory(t *testing.T, o *zktest.Options) *zktest.Server {
	t.Helper()
	if o == nil {
		o = &zktest.Options{}
	}
	o.InMemory = true
	s, err := zktest.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// client is a go-zookeeper connection with its session events.
type client struct {
	*zk.Conn
	events <-chan zk.Event
	closed bool
}

// connect returns a client with a session.
func connect(t *testing.T, s *zktest.Server, timeout time.Duration, addrs ...string) *client {
	t.Helper()
	return connectAs(t, s, "", timeout, addrs...)
}

func connectAs(t *testing.T, s *zktest.Server, name string, timeout time.Duration, addrs ...string) *client {
	t.Helper()
	if len(addrs) == 0 {
		addrs = strings.Split(s.Addr(), ",")
	}
	dial := s.Client(name)
	c, ev, err := zk.Connect(addrs, timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			return dial(ctx, network, addr)
		}))
	require.NoError(t, err)
	x := &client{Conn: c, events: ev}
	t.Cleanup(x.close)
	x.waitState(t, zk.StateHasSession)
	return x
}

func (c *client) close() {
	if !c.closed {
		c.closed = true
		c.Conn.Close()
	}
}

func (c *client) waitState(t *testing.T, want zk.State) {
	t.Helper()
	limit := time.After(5 * time.Minute)
	for {
		select {
		case e := <-c.events:
			if e.Type == zk.EventSession && e.State == want {
				return
			}
		case <-limit:
			require.FailNow(t, "state not reached", "%v", want)
		}
	}
}

func TestClientWorksOverTCPAndInMemory(t *testing.T) {
	exercise := func(t *testing.T, s *zktest.Server) {
		c := connect(t, s, 10*time.Second)
		p, err := c.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.Equal(t, "/a", p)
		data, st, w, err := c.GetW("/a")
		require.NoError(t, err)
		require.Equal(t, "x", string(data))
		require.EqualValues(t, 0, st.Version)
		_, err = c.Set("/a", []byte("y"), 0)
		require.NoError(t, err)
		require.Equal(t, zk.EventNodeDataChanged, (<-w).Type)
		p, err = c.Create("/a/s-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.Equal(t, "/a/s-0000000000", p)
		kids, st, err := c.Children("/a")
		require.NoError(t, err)
		require.Equal(t, []string{"s-0000000000"}, kids)
		require.EqualValues(t, 1, st.NumChildren)
		_, err = c.Sync("/a")
		require.NoError(t, err)
		res, err := c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 1}, &zk.CreateRequest{Path: "/b", Acl: zk.WorldACL(zk.PermAll)})
		require.NoError(t, err)
		require.Len(t, res, 2)
		require.ErrorIs(t, c.Delete("/a", -1), zk.ErrNotEmpty)
		c.close()
		_, err = s.Get("/a/s-0000000000")
		require.ErrorIs(t, err, zktest.ErrNoNode)
	}
	t.Run("tcp", func(t *testing.T) {
		s, err := zktest.Start(nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		exercise(t, s)
	})
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { exercise(t, startMemory(t, nil)) })
	})
	t.Run("ensemble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { exercise(t, startMemory(t, &zktest.Options{Servers: 3})) })
	})
}

func TestSessionExpiresAtTheTickAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startMemory(t, nil)
		log := keepLedger(s)
		begin := time.Now()
		c := connect(t, s, 30*time.Second)
		_, err := c.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		require.Len(t, s.Sessions(), 1)
		hole := time.Now()
		s.BlackHole(zktest.Link{Session: c.SessionID()}, zktest.Both)
		time.Sleep(time.Minute)
		expired := log.endedSessions()[c.SessionID()]
		require.False(t, expired.IsZero())
		require.Greater(t, expired.Sub(hole), 20*time.Second-time.Millisecond)
		require.LessOrEqual(t, expired.Sub(hole), 32*time.Second)
		require.Zero(t, expired.Sub(begin)%(2*time.Second))
		_, err = s.Get("/e")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		s.Heal()
		c.waitState(t, zk.StateExpired)
		c.waitState(t, zk.StateHasSession)
	})
}
