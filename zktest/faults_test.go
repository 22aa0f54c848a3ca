package zktest_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func TestBytesHeldBackByABlackHoleArriveAfterHeal(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		link := zktest.Link{Session: a.session}

		s.BlackHole(link, zktest.ToServer)
		xid := a.send(proto.OpCreate, create("/a", 0))
		a.wantSilence(time.Second)
		_, err := s.Get("/a")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		s.HealLink(link)
		require.Equal(t, xid, a.receiveReply().xid)

		s.BlackHole(link, zktest.ToClient)
		xid = a.send(proto.OpCreate, create("/b", 0))
		a.wantSilence(time.Second)
		_, err = s.Get("/b")
		require.NoError(t, err, "only the answer is lost")
		s.Heal()
		require.Equal(t, xid, a.receiveReply().xid)
	})
}

func TestNewConnectionsHangInABlackHole(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		s.BlackHole(zktest.Link{Server: 1}, zktest.ToClient)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		_, err := s.Dial(ctx, "tcp", s.Addr())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(begin))
		time.AfterFunc(2*time.Second, s.Heal)
		begin = time.Now()
		c, err := s.Dial(t.Context(), "tcp", s.Addr())
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.NoError(t, c.Close())
		_, err = s.Dial(t.Context(), "tcp", "192.0.2.77:2181")
		require.Error(t, err)
	})
}

func TestABlackHoleFollowsTheSessionToItsNextConnection(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		a, other := openRaw(t, s, 1), openRaw(t, s, 1)
		s.BlackHole(zktest.Link{Session: a.session}, zktest.Both)
		time.Sleep(8 * time.Second)
		require.Equal(t, proto.OK, other.call(proto.OpExists, pathWatch("/", false)).code)
		again := dialRaw(t, s, 2)
		again.greet(a.session, a.passwd, 10000, 0, false)
		again.wantSilence(5 * time.Second)
		s.Heal()
		require.Zero(t, again.readGreeting(false), "expired meanwhile")
	})
}

func TestANamedClientCanBeCutOffWhole(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a, b := connectAs(t, s, "alice", 10*time.Second), connectAs(t, s, "bob", 10*time.Second)
		s.BlackHole(zktest.Link{Client: "alice"}, zktest.Both)
		a.waitState(t, zk.StateDisconnected)
		_, _, err := b.Exists("/")
		require.NoError(t, err)
		require.Equal(t, 1, s.CutLink(zktest.Link{Client: "bob"}))
		b.waitState(t, zk.StateHasSession)
		s.Heal()
		a.waitState(t, zk.StateHasSession)
	})
}

func TestDelayKeepsTheOrder(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		s.Delay(zktest.Link{}, zktest.ToServer, time.Second)
		s.Delay(zktest.Link{Session: a.session}, zktest.ToClient, 2*time.Second)
		begin := time.Now()
		first := a.send(proto.OpCreate, create("/a", 0))
		second := a.send(proto.OpExists, pathWatch("/a", false))
		require.Equal(t, first, a.receiveReply().xid)
		require.Equal(t, 3*time.Second, time.Since(begin))
		s.Heal()
		require.Equal(t, second, a.receiveReply().xid)
		begin = time.Now()
		a.call(proto.OpExists, pathWatch("/a", false))
		require.Zero(t, time.Since(begin))
	})
}

func TestCutLosesTheConnectionNotTheSession(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a, b := openRaw(t, s, 1), openRaw(t, s, 1)
		require.Equal(t, 1, s.Cut(a.session))
		a.wantEOF()
		_, err := a.conn.Write([]byte{0})
		require.Error(t, err)
		require.Len(t, s.Sessions(), 2)
		require.False(t, s.Sessions()[0].Connected && s.Sessions()[1].Connected)
		again := dialRaw(t, s, 1)
		require.Equal(t, a.session, again.handshake(a.session, a.passwd, 10000, false))
		require.Equal(t, 2, s.CutAll())
		b.wantEOF()
		require.Zero(t, s.Cut(a.session))
	})
}

func TestExpireSessionTakesEffectAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		a.call(proto.OpCreate, create("/e", proto.FlagEphemeral))
		require.NoError(t, s.ExpireSession(a.session))
		_, err := s.Get("/e")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		a.wantEOF()
		require.Error(t, s.ExpireSession(a.session))
		again := dialRaw(t, s, 1)
		require.Zero(t, again.handshake(a.session, a.passwd, 10000, false))
	})
}

func TestARestartedServerGivesEverySessionItsFullTimeout(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		a := openRaw(t, s, 1)
		a.call(proto.OpCreate, create("/e", proto.FlagEphemeral))
		require.NoError(t, s.Stop(1))
		a.wantEOF()
		_, err := s.Dial(t.Context(), "tcp", s.Addr())
		require.ErrorContains(t, err, "refused")
		require.Empty(t, s.FourLetter(1, "ruok"))
		time.Sleep(time.Hour)
		require.NoError(t, s.Restart(1))
		up := time.Now()
		time.Sleep(9 * time.Second)
		require.Empty(t, log.endedSessions())
		_, err = s.Get("/e")
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		require.GreaterOrEqual(t, log.endedSessions()[a.session].Sub(up), 10*time.Second)
		require.Error(t, s.Stop(2))
		require.Error(t, s.Restart(0))
	})
}

func TestAFrozenServerAnswersLate(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		require.NoError(t, s.Freeze(1))
		xid := a.send(proto.OpCreate, create("/a", 0))
		a.wantSilence(5 * time.Second)
		b := dialRaw(t, s, 1) // the kernel accepts
		b.greet(0, nil, 10000, 0, false)
		b.wantSilence(time.Second)
		require.NoError(t, s.Thaw(1))
		require.Equal(t, xid, a.receiveReply().xid)
		require.NotZero(t, b.readGreeting(false))
		require.NoError(t, s.Freeze(1))
		time.Sleep(time.Minute)
		require.Len(t, s.Sessions(), 2, "a frozen server expires no session")
		require.NoError(t, s.Thaw(1))
		require.Empty(t, s.Sessions())
		a.wantEOF()
	})
}

func TestActionsOfTheHook(t *testing.T) {
	type outcome struct{ applied, answered, expired, cut bool }
	for do, want := range map[zktest.Fault]outcome{
		zktest.Pass:          {applied: true, answered: true},
		zktest.DropRequest:   {},
		zktest.CutBefore:     {cut: true},
		zktest.CutAfter:      {applied: true, answered: true, cut: true},
		zktest.DropReplyCut:  {applied: true, cut: true},
		zktest.DropReplyHole: {applied: true},
		zktest.ExpireBefore:  {expired: true, cut: true},
		zktest.ExpireAfter:   {applied: true, expired: true, cut: true},
		zktest.DelayReply:    {applied: true, answered: true},
	} {
		for _, servers := range []int{1, 3} {
			inBubble(t, &zktest.Options{Servers: servers}, func(t *testing.T, s *zktest.Server) {
				a := openRaw(t, s, 1)
				remove := s.FailNth(func(r zktest.Request) bool { return r.Op == "create" }, 2, zktest.Action{Do: do, For: time.Second})
				defer remove()
				a.call(proto.OpCreate, create("/first", 0))
				begin := time.Now()
				xid := a.send(proto.OpCreate, create("/a", 0))
				if want.answered {
					require.Equal(t, xid, a.receiveReply().xid, do)
				}
				if do == zktest.DelayReply {
					require.GreaterOrEqual(t, time.Since(begin), time.Second)
				}
				if want.cut {
					a.wantEOF()
				} else if !want.answered {
					a.wantSilence(5 * time.Second)
				}
				synctest.Wait()
				_, err := s.Get("/a")
				require.Equal(t, want.applied, err == nil, "%v %v", do, servers)
				require.Equal(t, want.expired, len(s.Sessions()) == 0, do)
			})
		}
	}
}

func TestFaultsOfTheHandshake(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		connects := func(r zktest.Request) bool { return r.Op == "connect" }
		s.FailNth(connects, 1, zktest.Action{Do: zktest.DropReplyCut})
		r := dialRaw(t, s, 1)
		r.greet(0, nil, 10000, 0, false)
		r.wantEOF()
		require.Len(t, s.Sessions(), 1, "the client never learned of this session")
		s.FailNth(connects, 1, zktest.Action{Do: zktest.DelayReply, For: time.Second})
		begin := time.Now()
		openRaw(t, s, 1)
		require.Equal(t, time.Second, time.Since(begin))
		s.FailNth(connects, 1, zktest.Action{Do: zktest.DropRequest})
		r = dialRaw(t, s, 1)
		r.greet(0, nil, 10000, 0, false)
		r.wantSilence(time.Minute)
		require.NoError(t, r.conn.Close())
		synctest.Wait()
	})
}

func TestHooksSeeTheRequestsAndMayCallTheServer(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		var mu sync.Mutex
		var seen []zktest.Request
		remove := s.OnRequest(func(r zktest.Request) zktest.Action {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r)
			if r.Op == "setData" {
				require.NoError(t, s.Set(r.Path, []byte("admin")))
			}
			return zktest.Action{}
		})
		a := openRaw(t, s, 1)
		a.call(proto.OpCreate, create("/a", 0))
		require.Equal(t, proto.BadVersion, a.call(proto.OpSetData, setData("/a", "x", 0)).code, "the hook was first")
		remove()
		a.call(proto.OpExists, pathWatch("/a", false))
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, seen, 3)
		require.Equal(t, "connect", seen[0].Op)
		require.Equal(t, "/a", seen[1].Path)
		require.Equal(t, a.session, seen[2].Session)
		require.Equal(t, []int{1, 2, 3}, []int{seen[0].N, seen[1].N, seen[2].N})
		require.Equal(t, []int{1, 1, 2}, []int{seen[0].SessionN, seen[1].SessionN, seen[2].SessionN})
	})
}

func TestOnApplyComesBeforeTheAnswer(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		a := openRaw(t, s, 1)
		require.Len(t, log.all(), 1)
		for range 50 {
			n := len(log.all())
			a.call(proto.OpCreate, create("/s-", proto.FlagPersistentSequential))
			require.Len(t, log.all(), n+1)
		}
		a.call(proto.OpCreate, create("/x/y", 0))
		told := log.all()
		require.Equal(t, []string{"/s-0000000000"}, told[1].Paths)
		require.EqualValues(t, proto.NoNode, told[len(told)-1].Code)
		for i := 1; i < len(told); i++ {
			require.Equal(t, told[i-1].Zxid+1, told[i].Zxid)
		}
	})
}

// multi is a transaction with a check of /a, and perhaps a change of it.
func multi(changes bool) func(w *jute.Writer) {
	return func(w *jute.Writer) {
		part := func(op proto.Op, body func(w *jute.Writer)) {
			w.Int32(int32(op))
			w.Bool(false)
			w.Int32(-1)
			body(w)
		}
		part(proto.OpCheck, pathInt("/a", -1))
		if changes {
			part(proto.OpSetData, setData("/a", "x", -1))
		}
		w.Int32(-1)
		w.Bool(true)
		w.Int32(-1)
	}
}

func TestOnApplyTellsHeartbeatsFromChanges(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		a := openRaw(t, s, 1)
		a.call(proto.OpCreate, create("/a", 0))
		a.call(proto.OpMulti, multi(false))
		a.call(proto.OpMulti, multi(true))
		var only []bool
		for _, txn := range log.all() {
			require.Zero(t, txn.Code)
			only = append(only, txn.OnlyChecks)
		}
		require.Equal(t, []bool{false, false, true, false}, only, "session, create, heartbeat, change")
	})
}

func TestCountersCount(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		a := openRaw(t, s, 1)
		a.call(proto.OpCreate, create("/a", 0))
		a.call(proto.OpExists, pathWatch("/a", true))
		a.call(proto.OpGetChildren2, pathWatch("/a", true))
		st := s.Stats()
		require.Equal(t, map[string]int{"connect": 1, "create": 1, "exists": 1, "getChildren2": 1}, st.Requests)
		require.Equal(t, map[string]int{"create": 1, "exists": 1, "getChildren2": 1}, st.BySession[a.session])
		require.Equal(t, 4, st.Total)
		require.Equal(t, 4, st.PacketsSent)
		require.Equal(t, []int{2, 1, 1}, []int{st.Watches, st.Sessions, st.Connections})
		require.Equal(t, map[string][]int64{"/a": {a.session}}, s.Watches())
		s.ResetStats()
		require.Zero(t, s.Stats().Total)
		require.Equal(t, 2, s.Stats().Watches)
	})
}

func TestAdministratorsMethods(t *testing.T) {
	for _, servers := range []int{1, 3} {
		inBubble(t, &zktest.Options{Servers: servers}, func(t *testing.T, s *zktest.Server) {
			require.NoError(t, s.Create("/a", []byte("1")))
			require.ErrorIs(t, s.Create("/a", nil), zktest.ErrNodeExists)
			require.ErrorIs(t, s.Create("/x/y", nil), zktest.ErrNoNode)
			require.NoError(t, s.Set("/a", []byte("2")))
			p, err := s.CreateSequential("/a/s-", nil)
			require.NoError(t, err)
			require.Equal(t, "/a/s-0000000000", p)
			require.ErrorIs(t, s.Delete("/a"), zktest.ErrNotEmpty)
			n, err := s.Get("/a")
			require.NoError(t, err)
			require.Equal(t, "2", string(n.Data))
			require.EqualValues(t, 1, n.Version)
			require.NoError(t, s.SetSequence("/a", 2147483647))
			p, err = s.CreateSequential("/a/s-", nil)
			require.NoError(t, err)
			require.Equal(t, "/a/s-2147483647", p)
			_, err = s.CreateSequential("/a/s-", nil)
			require.ErrorIs(t, err, zktest.ErrNodeExists)
			require.ErrorIs(t, s.SetSequence("/none", 1), zktest.ErrNoNode)
			require.NoError(t, s.SetVersion("/a", math.MaxInt32))
			require.NoError(t, s.Set("/a", []byte("3")))
			n, err = s.Get("/a")
			require.NoError(t, err)
			require.Equal(t, int32(math.MinInt32), n.Version, "the version wraps, as in Apache's server")
			require.NoError(t, s.SetVersion("/a", 7))
			n, err = s.Get("/a")
			require.NoError(t, err)
			require.Equal(t, "3", string(n.Data))
			require.EqualValues(t, 7, n.Version)
			require.ErrorIs(t, s.SetVersion("/none", 1), zktest.ErrNoNode)
			kids, err := s.Children("/a")
			require.NoError(t, err)
			require.Equal(t, []string{"s-0000000000", "s-2147483647"}, kids)
			_, err = s.Children("/none")
			require.ErrorIs(t, err, zktest.ErrNoNode)
			var paths []string
			for _, n := range s.Dump() {
				paths = append(paths, n.Path)
			}
			require.Equal(t, []string{"/", "/a", "/a/s-0000000000", "/a/s-2147483647"}, paths)
			require.NoError(t, s.Delete("/a/s-0000000000"))
			_, err = s.GetAt(9, "/a")
			require.Error(t, err)
			require.NoError(t, s.Create("/a/b", nil))
			require.NoError(t, s.Create("/a/b/c", nil))
			require.NoError(t, s.DeleteAll("/a"))
			_, err = s.Get("/a")
			require.ErrorIs(t, err, zktest.ErrNoNode)
			require.ErrorIs(t, s.DeleteAll("/a"), zktest.ErrNoNode)
		})
	}
}

func TestGoZookeepersLockBreaksAtTheEndOfTheSequence(t *testing.T) {
	// hazards of names: beyond 2147483647 every contender holds the lock.
	inBubble(t, nil, func(t *testing.T, s *zktest.Server) {
		require.NoError(t, s.Create("/l", nil))
		require.NoError(t, s.SetSequence("/l", 2147483647))
		holders := 0
		for range 3 {
			c := connect(t, s, 10*time.Second)
			l := zk.NewLock(c.Conn, "/l", zk.WorldACL(zk.PermAll))
			done := make(chan error, 1)
			// The select waits for this goroutine; the return of Lock ends the
			// goroutine.
			go func() { done <- l.Lock() }()
			select {
			case err := <-done:
				require.NoError(t, err)
				holders++
			case <-time.After(time.Minute):
			}
		}
		require.Equal(t, 3, holders)
	})
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []zktest.Options{
		{Servers: 2}, {Servers: -1}, {Servers: 11}, {TickTime: -1}, {MinSessionTimeout: time.Hour}, {SyncLimit: -1},
		{MaxFrame: -5}, {Latency: -1}, {ContainerInterval: 1},
	} {
		o.InMemory = true
		_, err := zktest.Start(&o)
		require.ErrorIs(t, err, zktest.ErrOption, "%+v", o)
	}
	_, err := zktest.Start(&zktest.Options{Addr: "256.0.0.1:0"})
	require.Error(t, err)
}
