package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// inBubble runs f in a bubble with a ready server.
func inBubble(t *testing.T, o *zktest.Options, f func(t *testing.T, s *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := startMemory(t, o)
		if o != nil && o.Servers > 1 {
			time.Sleep(time.Second) // election
		}
		f(t, s)
	})
}

func TestTimeoutIsClampedToTwoAndTwentyTicks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		for ask, want := range map[int32]int32{0: 4000, 1: 4000, 10000: 10000, 99999: 40000} {
			r := dialRaw(t, s, 1)
			require.NotZero(t, r.handshake(0, nil, ask, false))
			require.Equal(t, want, r.timeout)
		}
	})
}

func TestHandshakes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)

		again := dialRaw(t, s, 1)
		require.Equal(t, a.session, again.handshake(a.session, a.passwd, 10000, true), "without the readOnly byte")
		a.wantEOF() // its place is taken
		require.Equal(t, proto.OK, again.call(proto.OpCreate, create("/e", proto.FlagEphemeral)).code)

		thief := dialRaw(t, s, 1)
		require.Zero(t, thief.handshake(a.session, make([]byte, 16), 10000, false))
		require.Zero(t, thief.timeout)
		require.Equal(t, make([]byte, 16), thief.passwd)
		thief.wantEOF()

		ghost := dialRaw(t, s, 1)
		require.Zero(t, ghost.handshake(12345, a.passwd, 10000, false))

		future := dialRaw(t, s, 1)
		future.greet(0, nil, 10000, 1<<40, false)
		future.wantEOF()

		require.Len(t, s.Sessions(), 1)
		require.Equal(t, []string{"/e"}, s.Sessions()[0].Ephemerals)
	})
}

func TestClosingASession(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a, b := openRaw(t, s, 1), openRaw(t, s, 1)
		a.call(proto.OpCreate, create("/e", proto.FlagEphemeral))
		b.call(proto.OpExists, pathWatch("/e", true))
		require.Equal(t, proto.OK, a.call(proto.OpCloseSession, nil).code)
		a.wantEOF()
		typ, path := b.receiveEvent()
		require.Equal(t, proto.EventNodeDeleted, typ)
		require.Equal(t, "/e", path)
		again := dialRaw(t, s, 1)
		require.Zero(t, again.handshake(a.session, a.passwd, 10000, false))
	})
}

// N12.
func TestEventComesBeforeTheAnswerThatShowsTheChange(t *testing.T) {
	for _, servers := range []int{1, 3} {
		inBubble(t, &zktest.Options{Servers: servers}, func(t *testing.T, s *zktest.Server) {
			a := openRaw(t, s, 1)
			a.call(proto.OpCreate, create("/a", 0))
			a.call(proto.OpGetData, pathWatch("/a", true))
			a.call(proto.OpGetChildren, pathWatch("/a", true))
			set := a.send(proto.OpSetData, setData("/a", "new", -1))
			sub := a.send(proto.OpCreate, create("/a/b", 0))
			get := a.send(proto.OpGetData, pathWatch("/a", false))
			typ, _ := a.receiveEvent()
			require.Equal(t, proto.EventNodeDataChanged, typ)
			require.Equal(t, set, a.receiveReply().xid)
			typ, _ = a.receiveEvent()
			require.Equal(t, proto.EventNodeChildrenChanged, typ)
			require.Equal(t, sub, a.receiveReply().xid)
			got := a.receiveReply()
			require.Equal(t, get, got.xid)
			require.Equal(t, "new", string(got.body.Buffer()), "a read sees the session's earlier writes")
		})
	}
}

func TestAnswersComeInOrderBehindAPendingWrite(t *testing.T) {
	inBubble(t, &zktest.Options{Servers: 3}, func(t *testing.T, s *zktest.Server) {
		follower := s.Leader()%3 + 1
		a := openRaw(t, s, follower)
		s.CutPeers(follower, s.Leader(), zktest.Both)
		w := a.send(proto.OpCreate, create("/a", 0))
		r := a.send(proto.OpExists, pathWatch("/a", false))
		a.sendAs(proto.XidPing, proto.OpPing, nil)
		a.wantSilence(5 * time.Second)
		other := openRaw(t, s, s.Leader())
		require.Equal(t, proto.NoNode, other.call(proto.OpExists, pathWatch("/a", false)).code)
		s.HealPeers()
		require.Equal(t, w, a.receiveReply().xid)
		got := a.receiveReply()
		require.Equal(t, r, got.xid)
		require.Equal(t, proto.OK, got.code)
		require.Equal(t, proto.XidPing, a.receiveReply().xid)
	})
}

func TestMalformedRequests(t *testing.T) {
	inBubble(t, &zktest.Options{MaxFrame: 1000}, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		require.Equal(t, proto.MarshallingError, a.call(proto.OpGetData, nil).code)
		require.Equal(t, proto.MarshallingError, a.call(proto.OpCreate, pathOnly("/x")).code)
		require.Equal(t, proto.Unimplemented, a.call(proto.Op(99), nil).code)
		a.wantEOF()

		b := openRaw(t, s, 1)
		b.writeRecord([]byte{0, 0, 0, 1})
		b.wantEOF()
		c := openRaw(t, s, 1)
		c.send(proto.OpCreate, func(w *jute.Writer) { w.String(string(make([]byte, 1000))) })
		c.wantEOF()
		d := dialRaw(t, s, 1)
		d.writeRecord([]byte("not a connect request"))
		d.wantEOF()
		require.Len(t, s.Sessions(), 3, "a broken connection is no broken session")
	})
}

func TestOldServerKnowsNothingNew(t *testing.T) {
	inBubble(t, &zktest.Options{OldServer: true, DisableExtendedTypes: true}, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		require.Equal(t, proto.OK, a.call(proto.OpCreate2, create("/c", 0)).code)
		require.Equal(t, proto.Unimplemented, a.call(proto.OpCreateTTL, func(w *jute.Writer) {
			create("/t", proto.FlagTTL)(w)
			w.Int64(1000)
		}).code)
		require.Equal(t, proto.Unimplemented, a.call(proto.OpAddWatch, pathInt("/", 1)).code)
		a.wantEOF()
	})
}

func TestReadsAndMinorRequests(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		got := a.call(proto.OpCreate2, create("/a", 0))
		require.Equal(t, "/a", got.body.String())
		require.Equal(t, got.zxid, proto.DecodeStat(got.body).Czxid)
		got = a.call(proto.OpCreateContainer, create("/a/c", proto.FlagContainer))
		require.Equal(t, "/a/c", got.body.String())
		require.Zero(t, proto.DecodeStat(got.body).EphemeralOwner)
		a.call(proto.OpCreate, create("/a/c/e", proto.FlagEphemeral))

		require.EqualValues(t, 2, a.call(proto.OpCountChildren, pathOnly("/a")).body.Int32())
		require.Equal(t, []string{"/a/c/e"}, a.call(proto.OpGetEphemerals, pathOnly("/a")).body.Strings())
		require.Empty(t, a.call(proto.OpGetEphemerals, pathOnly("/b")).body.Strings())
		got = a.call(proto.OpGetACL, pathOnly("/a"))
		require.Equal(t, proto.WorldACL(), proto.DecodeACLs(got.body))
		require.Equal(t, "/a", a.call(proto.OpSync, pathOnly("/a")).body.String())
		require.Equal(t, proto.MarshallingError, a.call(proto.OpReconfig, nil).code)
		require.Equal(t, proto.ReconfigDisabled, a.call(proto.OpReconfig, func(w *jute.Writer) {
			w.String("")
			w.String("")
			w.String("")
			w.Int64(-1)
		}).code)
		require.Equal(t, []string{"c"}, a.call(proto.OpGetChildren, pathWatch("/a", false)).body.Strings())

		a.sendAs(proto.XidAuth, proto.OpAuth, func(w *jute.Writer) { w.Int32(0); w.String("digest"); w.Buffer([]byte("bob:pw")) })
		require.Equal(t, proto.XidAuth, a.receiveReply().xid)
		got = a.call(proto.OpWhoAmI, nil)
		require.EqualValues(t, 2, got.body.Int32())
		identities := map[string]string{}
		for range 2 {
			scheme := got.body.String()
			identities[scheme] = got.body.String()
		}
		require.Equal(t, map[string]string{"ip": "198.51.100.1", "digest": "bob"}, identities)

		got = a.call(proto.OpMultiRead, func(w *jute.Writer) {
			for _, p := range []string{"/a", "/none"} {
				w.Int32(int32(proto.OpGetData))
				w.Bool(false)
				w.Int32(-1)
				pathWatch(p, false)(w)
			}
			w.Int32(-1)
			w.Bool(true)
			w.Int32(-1)
		})
		require.Equal(t, int32(proto.OpGetData), got.body.Int32())
		_, _ = got.body.Bool(), got.body.Int32()
		require.Equal(t, "a", string(got.body.Buffer()))
		_ = proto.DecodeStat(got.body)
		require.Equal(t, int32(proto.OpError), got.body.Int32())
		_, _ = got.body.Bool(), got.body.Int32()
		require.Equal(t, int32(proto.NoNode), got.body.Int32())

		a.sendAs(proto.XidAuth, proto.OpAuth, func(w *jute.Writer) { w.Int32(0); w.String("kerberos"); w.Buffer(nil) })
		require.Equal(t, proto.AuthFailed, a.receiveReply().code)
		a.wantEOF()
	})
}

func TestFailedMultiSaysWhichPartFailed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		part := func(w *jute.Writer, op proto.Op, body func(w *jute.Writer)) {
			w.Int32(int32(op))
			w.Bool(false)
			w.Int32(-1)
			body(w)
		}
		got := a.call(proto.OpMulti, func(w *jute.Writer) {
			part(w, proto.OpCreate, create("/a", 0))
			part(w, proto.OpCheck, pathInt("/none", 1))
			part(w, proto.OpCreate, create("/b", 0))
			w.Int32(-1)
			w.Bool(true)
			w.Int32(-1)
		})
		require.Equal(t, proto.OK, got.code, "the header of a failed multi says OK")
		for _, want := range []proto.Code{proto.OK, proto.NoNode, proto.RuntimeInconsistency} {
			require.Equal(t, int32(proto.OpError), got.body.Int32())
			require.False(t, got.body.Bool())
			require.Equal(t, int32(want), got.body.Int32())
			require.Equal(t, int32(want), got.body.Int32())
		}
		require.EqualValues(t, -1, got.body.Int32())
		require.True(t, got.body.Bool())
		require.Empty(t, s.Dump()[1:])
	})
}

func TestWatchRequests(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		zxid := a.call(proto.OpCreate, create("/old", 0)).zxid
		a.call(proto.OpCreate, create("/new", 0))
		a.call(proto.OpSetData, setData("/old", "x", -1))
		xid := a.send(proto.OpSetWatches2, func(w *jute.Writer) {
			w.Int64(zxid)
			w.Strings([]string{"/old", "/gone", "/new"})
			w.Strings([]string{"/new", "/absent"})
			w.Strings([]string{"/gone", "/old"})
			w.Strings([]string{"/p"})
			w.Strings([]string{"/r"})
		})
		type event struct {
			t proto.EventType
			p string
		}
		want := []event{
			{proto.EventNodeDataChanged, "/old"}, {proto.EventNodeDeleted, "/gone"}, {proto.EventNodeDataChanged, "/new"},
			{proto.EventNodeCreated, "/new"}, {proto.EventNodeDeleted, "/gone"},
		}
		for _, e := range want {
			typ, path := a.receiveEvent()
			require.Equal(t, e, event{typ, path})
		}
		require.Equal(t, xid, a.receiveReply().xid)
		require.Equal(t, 6, s.Stats().Watches, "/absent, /old's children, and two for each persistent one")

		require.Equal(t, proto.OK, a.call(proto.OpCheckWatches, pathInt("/old", 1)).code)
		require.Equal(t, proto.NoWatcher, a.call(proto.OpCheckWatches, pathInt("/old", 2)).code)
		require.Equal(t, proto.OK, a.call(proto.OpRemoveWatches, pathInt("/r", 3)).code)
		require.Equal(t, proto.NoWatcher, a.call(proto.OpRemoveWatches, pathInt("/r", 3)).code)
		require.Equal(t, proto.OK, a.call(proto.OpAddWatch, pathInt("/r", 1)).code)
		sub := a.send(proto.OpCreate, create("/r", 0))
		typ, _ := a.receiveEvent()
		require.Equal(t, proto.EventNodeCreated, typ)
		require.Equal(t, sub, a.receiveReply().xid)
		require.NoError(t, a.conn.Close())
		synctest.Wait()
		require.Zero(t, s.Stats().Watches)
		require.Empty(t, s.Watches())
	})
}

func TestContainersAndTTLNodesAreReaped(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		a.call(proto.OpCreateContainer, create("/c", proto.FlagContainer))
		a.call(proto.OpCreate, create("/c/x", 0))
		a.call(proto.OpDelete, pathInt("/c/x", -1))
		a.call(proto.OpCreateTTL, func(w *jute.Writer) { create("/t", proto.FlagTTL)(w); w.Int64(90_000) })
		n, err := s.Get("/c")
		require.NoError(t, err)
		require.True(t, n.Container)
		time.Sleep(61 * time.Second)
		_, err = s.Get("/c")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		_, err = s.Get("/t")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, err = s.Get("/t")
		require.ErrorIs(t, err, zktest.ErrNoNode)
	})
}

// TestOdditiesOfApache asserts behavior observed with Apache ZooKeeper 3.8.0.
func TestOdditiesOfApache(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		part := func(w *jute.Writer, op proto.Op, body func(w *jute.Writer)) {
			w.Int32(int32(op))
			w.Bool(false)
			w.Int32(-1)
			body(w)
		}
		got := a.call(proto.OpMulti, func(w *jute.Writer) {
			part(w, proto.OpCreate2, create("/c2", 0))
			part(w, proto.OpCreateContainer, create("/cc", proto.FlagContainer))
			w.Int32(-1)
			w.Bool(true)
			w.Int32(-1)
		})
		require.Equal(t, int32(proto.OpCreate), got.body.Int32(), "create2 in a multi is answered like create")
		_, _ = got.body.Bool(), got.body.Int32()
		require.Equal(t, "/c2", got.body.String())
		require.Equal(t, int32(proto.OpCreate2), got.body.Int32(), "and a container like create2")

		a.send(proto.OpCheck, pathInt("/", -1))
		require.Equal(t, proto.NoNode, a.call(proto.OpCheck, pathInt("/none", -1)).code, "a single successful check is never answered")
		null := func(w *jute.Writer) { w.Int32(-1); w.Bool(false) }
		require.Equal(t, proto.MarshallingError, a.call(proto.OpGetData, null).code)
		require.Equal(t, proto.BadArguments, a.call(proto.OpDeleteContainer, pathOnly("/cc")).code)
		require.Equal(t, proto.OK, a.call(proto.OpSASL, func(w *jute.Writer) { w.Buffer([]byte("x")) }).code)
		a.sendAs(77, proto.OpPing, nil)
		require.Equal(t, proto.XidPing, a.receiveReply().xid)
		a.sendAs(proto.XidAuth, proto.OpAuth, func(w *jute.Writer) { w.Int32(0); w.String("world"); w.Buffer(nil) })
		require.Equal(t, proto.AuthFailed, a.receiveReply().code)
		a.wantEOF()
	})
}
