package zktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// startAgain closes s and starts a new server on the same address.
func startAgain(t *testing.T, s *zktest.Server) *zktest.Server {
	t.Helper()
	addr := s.Addr()
	require.NoError(t, s.Close())
	return startTCP(t, &zktest.Options{Addr: addr})
}

func TestNewServerOnTheSameAddressTellsOldClientsThatTheirSessionsExpired(t *testing.T) {
	first := startTCP(t, nil)
	s := startAgain(t, first) // on a fixed port
	r := openRaw(t, s, 1)
	var last reply
	for range 10 {
		last = r.call(proto.OpCreate, create("/n", 2))
		require.Equal(t, proto.OK, last.code)
	}
	require.Less(t, last.zxid, int64(1)<<53, "JSON numbers are exact")
	node := connect(t, s, 10*time.Second)
	require.Equal(t, zk.StateHasSession, node.State())

	s = startAgain(t, s)
	again := dialRaw(t, s, 1)
	again.greet(r.session, r.passwd, 10000, last.zxid, false)
	require.Zero(t, again.readGreeting(false), "the session expired, instead of no answer")
	for expired := false; ; {
		ev := <-node.events
		expired = expired || ev.State == zk.StateExpired
		if expired && ev.State == zk.StateHasSession {
			break
		}
	}
	path, err := node.Create("/back", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.Equal(t, "/back", path)
	st, err := s.Get("/back")
	require.NoError(t, err)
	require.Greater(t, st.Czxid, last.zxid, "tokens go on growing")
	node.Close()
}

func TestZxidsBeginWithZeroWhereNoClientCanOutliveTheServer(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {InMemory: true}, {InMemory: true, Addr: "127.0.0.1:2181"}} {
		s, err := zktest.Start(o)
		require.NoError(t, err)
		require.NoError(t, s.Create("/a", nil))
		n, err := s.Get("/a")
		require.NoError(t, err)
		require.EqualValues(t, 1, n.Czxid)
		require.NoError(t, s.Close())
	}
}
