package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// keepers are the products without create2 and containers.
var keepers = []zktest.Product{zktest.ClickHouseKeeper, zktest.RaftKeeper} // read only

// inKeeper runs f in a bubble, on a server of a product.
func inKeeper(t *testing.T, p zktest.Product, f func(t *testing.T, s *zktest.Server)) {
	t.Helper()
	t.Run(string(p), func(t *testing.T) { inBubble(t, &zktest.Options{Product: p}, f) })
}

// openKeeper connects to a server whose handshake is that of the Keeper family.
func openKeeper(t *testing.T, s *zktest.Server, session int64) *raw {
	t.Helper()
	r := dialRaw(t, s, 1)
	r.greet(session, make([]byte, 16), 10000, 0, false)
	r.readGreeting(true)
	require.Equal(t, make([]byte, 16), r.passwd)
	return r
}

func TestHandshakeOfKeepersHasNoPassword(t *testing.T) {
	for _, p := range keepers {
		inKeeper(t, p, func(t *testing.T, s *zktest.Server) {
			a := openKeeper(t, s, 0)
			require.NotZero(t, a.session)
			require.EqualValues(t, 10000, a.timeout)
		})
	}
}

func TestClickHouseKeeperMakesANewSessionInsteadOfResumingOne(t *testing.T) {
	inKeeper(t, zktest.ClickHouseKeeper, func(t *testing.T, s *zktest.Server) {
		a := openKeeper(t, s, 0)
		b := openKeeper(t, s, a.session)
		require.NotEqual(t, a.session, b.session)
		require.Len(t, s.Sessions(), 2)
		time.Sleep(9 * time.Second)
		b.sendAs(proto.XidPing, proto.OpPing, nil)
		time.Sleep(9 * time.Second)
		require.Len(t, s.Sessions(), 1, "the former session has expired")
	})
}

func TestRaftKeeperResumesASessionAndTellsOfItsEnd(t *testing.T) {
	inKeeper(t, zktest.RaftKeeper, func(t *testing.T, s *zktest.Server) {
		a := openKeeper(t, s, 0)
		b := openKeeper(t, s, a.session)
		require.Equal(t, a.session, b.session)
		require.NoError(t, s.ExpireSession(a.session))
		c := openKeeper(t, s, a.session)
		require.EqualValues(t, -1, c.timeout)
		c.wantEOF()
	})
}

func TestUnknownRequestsOfKeepers(t *testing.T) {
	unknown := map[string]struct {
		op   proto.Op
		body func(*jute.Writer)
	}{
		"create2":              {proto.OpCreate2, create("/a", 0)},
		"createTTL":            {proto.OpCreateTTL, create("/a", proto.FlagTTL)},
		"whoAmI":               {proto.OpWhoAmI, nil},
		"getAllChildrenNumber": {proto.OpCountChildren, pathOnly("/")},
	}
	for name, q := range unknown {
		t.Run(name, func(t *testing.T) {
			inKeeper(t, zktest.ClickHouseKeeper, func(t *testing.T, s *zktest.Server) {
				a := openKeeper(t, s, 0)
				a.send(q.op, q.body)
				a.wantEOF()
				require.Len(t, s.Sessions(), 1, "the session stays until it expires")
			})
			inKeeper(t, zktest.RaftKeeper, func(t *testing.T, s *zktest.Server) {
				a := openKeeper(t, s, 0)
				a.send(q.op, q.body)
				require.Equal(t, proto.OK, a.call(proto.OpExists, pathWatch("/", false)).code, "the next answer is that of the next request")
			})
		})
	}
}

func TestKeepersRefuseContainers(t *testing.T) {
	for _, p := range keepers {
		inKeeper(t, p, func(t *testing.T, s *zktest.Server) {
			a := openKeeper(t, s, 0)
			require.Equal(t, proto.BadArguments, a.call(proto.OpCreate, create("/c", proto.FlagContainer)).code)
			if p == zktest.RaftKeeper {
				require.Equal(t, proto.BadArguments, a.call(proto.OpCreateContainer, create("/c", proto.FlagContainer)).code)
				return
			}
			a.send(proto.OpCreateContainer, create("/c", proto.FlagContainer))
			a.wantEOF()
		})
	}
}

func TestClickHouseKeeperNamesThePathOfARecursiveWatch(t *testing.T) {
	inKeeper(t, zktest.ClickHouseKeeper, func(t *testing.T, s *zktest.Server) {
		a, b := openKeeper(t, s, 0), openKeeper(t, s, 0)
		require.NoError(t, s.Create("/a", nil))
		require.Equal(t, proto.OK, a.call(proto.OpAddWatch, pathInt("/a", 1)).code)
		require.Equal(t, proto.OK, b.call(proto.OpCreate, create("/a/b", 0)).code)
		kind, path := a.receiveEvent()
		require.Equal(t, proto.EventNodeCreated, kind)
		require.Equal(t, "/a", path)
	})
}

func TestClickHouseKeeperLeavesTheBodyOfAFailedReadOut(t *testing.T) {
	inKeeper(t, zktest.ClickHouseKeeper, func(t *testing.T, s *zktest.Server) {
		a := openKeeper(t, s, 0)
		got := a.call(proto.OpMultiRead, func(w *jute.Writer) {
			for _, path := range []string{"/none", "/"} {
				w.Int32(int32(proto.OpGetData))
				w.Bool(false)
				w.Int32(-1)
				w.String(path)
				w.Bool(false)
			}
			w.Int32(-1)
			w.Bool(true)
			w.Int32(-1)
		})
		require.Equal(t, int32(proto.OpGetData), got.body.Int32())
		require.False(t, got.body.Bool())
		require.Equal(t, int32(proto.NoNode), got.body.Int32())
		require.Equal(t, int32(proto.OpGetData), got.body.Int32(), "the next part follows at once")
	})
}

// In Keeper, the leader does not hear of reads at its followers.
func TestReadsAreNoSignOfLifeInClickHouseKeeper(t *testing.T) {
	inKeeper(t, zktest.ClickHouseKeeper, func(t *testing.T, s *zktest.Server) {
		a := openKeeper(t, s, 0)
		for range 3 {
			time.Sleep(3 * time.Second)
			a.send(proto.OpExists, pathWatch("/", false))
		}
		require.Len(t, s.Sessions(), 1)
		time.Sleep(4 * time.Second)
		require.Empty(t, s.Sessions())
	})
}

// A Keeper without a leader refuses a handshake, with a protocol version of its own.
func TestKeeperWithoutALeaderSaysSo(t *testing.T) {
	for _, p := range keepers {
		t.Run(string(p), func(t *testing.T) {
			inBubble(t, &zktest.Options{Product: p, Servers: 3}, func(t *testing.T, s *zktest.Server) {
				require.NoError(t, s.Stop(2))
				require.NoError(t, s.Stop(3))
				time.Sleep(time.Minute)
				r := dialRaw(t, s, 1)
				r.greet(0, make([]byte, 16), 10000, 0, false)
				b, err := r.readFrame()
				require.NoError(t, err)
				j := jute.NewReader(b)
				require.EqualValues(t, 42, j.Int32())
				require.EqualValues(t, map[zktest.Product]int32{zktest.ClickHouseKeeper: 10000, zktest.RaftKeeper: -1}[p], j.Int32())
				r.wantEOF()
			})
		})
	}
}

func TestUnknownProductIsRefused(t *testing.T) {
	_, err := zktest.Start(&zktest.Options{Product: "etcd"})
	require.ErrorIs(t, err, zktest.ErrOption)
	require.ErrorContains(t, err, `"etcd"`)
}
