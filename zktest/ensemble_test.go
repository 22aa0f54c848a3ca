package zktest_test

import (
	"context"
	"slices"
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

func threeServers() *zktest.Options { return &zktest.Options{Servers: 3} }

// followers returns the numbers of the two followers.
func followers(s *zktest.Server) (int, int) {
	l := s.Leader()
	return l%3 + 1, (l+1)%3 + 1
}

// ledger records the committed changes.
type ledger struct {
	mu   sync.Mutex
	txns []zktest.Txn
}

func keepLedger(s *zktest.Server) *ledger {
	l := &ledger{}
	s.OnApply(func(x zktest.Txn) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.txns = append(l.txns, x)
	})
	return l
}

func (l *ledger) all() []zktest.Txn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.txns)
}

// endedSessions tells when the leader ended sessions.
func (l *ledger) endedSessions() map[int64]time.Time {
	at := map[int64]time.Time{}
	for _, x := range l.all() {
		if x.Op == "closeSession" {
			at[x.Session] = x.At
		}
	}
	return at
}

// sendHeartbeats pings, in a bubble, every second until the connection ends, and
// returns when the last answer came.
func sendHeartbeats(r *raw, limit time.Duration) time.Time {
	var last time.Time
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Second) {
		var w jute.Writer
		w.Int32(proto.XidPing)
		w.Int32(int32(proto.OpPing))
		if _, err := r.conn.Write(jute.Frame(w.Bytes())); err != nil {
			break
		}
		_ = r.conn.SetReadDeadline(time.Now().Add(900 * time.Millisecond))
		if _, err := r.readFrame(); err == nil {
			last = time.Now()
		}
	}
	return last
}

// N27.
func TestOneLeaderIsElectedAndItsFollowersReplicate(t *testing.T) {
	for _, n := range []int{3, 5} {
		inBubble(t, &zktest.Options{Servers: n}, func(t *testing.T, s *zktest.Server) {
			require.Equal(t, n, s.Leader(), "equal logs: the highest number wins")
			a := openRaw(t, s, 1)
			require.Equal(t, proto.OK, a.call(proto.OpCreate, create("/a", 0)).code)
			time.Sleep(time.Second)
			first, err := s.GetAt(1, "/a")
			require.NoError(t, err)
			for i := 2; i <= n; i++ {
				got, err := s.GetAt(i, "/a")
				require.NoError(t, err)
				require.Equal(t, first, got)
			}
		})
	}
}

func TestIsolatedFollowerGoesOnAnsweringAndThenClosesItsClients(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		f, g := followers(s)
		a := openRaw(t, s, f) // 10 s, as long as syncLimit ticks
		b := openRaw(t, s, g)
		b.call(proto.OpCreate, create("/a", 0))
		time.Sleep(3 * time.Second)
		cut := time.Now()
		s.IsolateServer(f)
		b.call(proto.OpSetData, setData("/a", "new", -1))
		stale := a.call(proto.OpGetData, pathWatch("/a", false))
		require.Equal(t, "a", string(stale.body.Buffer()))
		last := sendHeartbeats(a, time.Minute)
		// The last word from the leader was at most half a tick old at the cut.
		require.InDelta(t, 9.5, last.Sub(cut).Seconds(), 1.5)
		// The leader has heard of no sign of life since the handshake, 3 s ago.
		require.InDelta(t, 8, log.endedSessions()[a.session].Sub(cut).Seconds(), 1.1)
		s.HealPeers()
		time.Sleep(5 * time.Second)
		n, err := s.GetAt(f, "/a")
		require.NoError(t, err)
		require.Equal(t, "new", string(n.Data), "the server is back and has caught up")
	})
}

func TestSessionOfAnIsolatedFollowerExpiresWhileItsPingsAreAnswered(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		f, _ := followers(s)
		r := dialRaw(t, s, f)
		r.handshake(0, nil, 4000, false)
		cut := time.Now()
		s.IsolateServer(f)
		last := sendHeartbeats(r, time.Minute)
		require.False(t, log.endedSessions()[r.session].IsZero())
		require.LessOrEqual(t, log.endedSessions()[r.session].Sub(cut), 6*time.Second)
		require.Greater(t, last.Sub(log.endedSessions()[r.session]), 2*time.Second, "during this overlap an answered ping proves nothing")
	})
}

func TestLeaderWithoutMajorityAnswersReadsAndSyncButCommitsNothing(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		old := s.Leader()
		f, _ := followers(s)
		a, w := openRaw(t, s, old), openRaw(t, s, old)
		a.call(proto.OpCreate, create("/a", 0))
		cut := time.Now()
		s.IsolateServer(old)
		w.send(proto.OpCreate, create("/lost", 0))
		a.sendAs(proto.XidPing, proto.OpPing, nil)
		require.Equal(t, proto.XidPing, a.receiveReply().xid)
		require.Equal(t, proto.OK, a.call(proto.OpSync, pathOnly("/a")).code)
		require.Equal(t, proto.OK, a.call(proto.OpGetData, pathWatch("/a", false)).code)
		w.wantSilence(5 * time.Second)
		last := sendHeartbeats(a, time.Minute)
		require.InDelta(t, 10.5, last.Sub(cut).Seconds(), 2.5, "the leader steps down after syncLimit ticks")
		require.NotEqual(t, old, s.Leader())
		_, err := s.Get("/lost")
		require.ErrorIs(t, err, zktest.ErrNoNode)

		b := openRaw(t, s, f)
		require.Equal(t, proto.OK, b.call(proto.OpCreate, create("/b", 0)).code)
		s.HealPeers()
		time.Sleep(5 * time.Second)
		_, err = s.GetAt(old, "/b")
		require.NoError(t, err, "the old leader follows the new one")
		_, err = s.GetAt(old, "/lost")
		require.ErrorIs(t, err, zktest.ErrNoNode, "and has discarded the uncommitted write")
	})
}

func TestNewLeaderGivesEverySessionItsFullTimeout(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		f, _ := followers(s)
		a := openRaw(t, s, f)
		time.Sleep(8 * time.Second) // of 10
		old := s.Leader()
		require.NoError(t, s.Stop(old))
		stopped := time.Now()
		time.Sleep(2 * time.Second)
		require.NotZero(t, s.Leader())
		require.NotEqual(t, old, s.Leader())
		time.Sleep(time.Minute)
		require.InDelta(t, 11.5, log.endedSessions()[a.session].Sub(stopped).Seconds(), 1.5)
		require.NoError(t, s.Restart(old))
		time.Sleep(time.Second)
		require.NotEqual(t, old, s.Leader(), "a leader with a majority stays")
	})
}

func TestNoMajorityNoService(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		f, g := followers(s)
		require.NoError(t, s.Stop(f))
		require.NoError(t, s.Stop(g))
		time.Sleep(5 * time.Second)
		require.Zero(t, s.Leader())
		require.ErrorIs(t, s.Create("/a", nil), zktest.ErrNoLeader)
		r := dialRaw(t, s, 6-f-g)
		r.greet(0, nil, 10000, 0, false)
		r.wantEOF()
		_, err := s.Dial(t.Context(), "tcp", s.ServerAddr(f))
		require.Error(t, err)
		require.NoError(t, s.Restart(f))
		time.Sleep(5 * time.Second)
		require.NotZero(t, s.Leader())
		require.NoError(t, s.Create("/a", nil))
	})
}

func TestFrozenLeaderIsReplacedAndItsOldClientsMustGo(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		old := s.Leader()
		a := openRaw(t, s, old)
		require.NoError(t, s.Freeze(old))
		a.sendAs(proto.XidPing, proto.OpPing, nil)
		a.wantSilence(20 * time.Second)
		require.NotEqual(t, old, s.Leader())
		require.NoError(t, s.Create("/new", nil))
		require.NoError(t, s.Thaw(old))
		require.NoError(t, a.conn.SetReadDeadline(time.Now().Add(10*time.Second)))
		for {
			if _, err := a.readFrame(); err != nil {
				require.ErrorContains(t, err, "EOF")
				break
			}
		}
		time.Sleep(5 * time.Second)
		_, err := s.GetAt(old, "/new")
		require.NoError(t, err)
	})
}

func TestFrozenLeaderExpiresWhatCameDueBeforeItReadsAnything(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		log := keepLedger(s)
		f, _ := followers(s)
		r := dialRaw(t, s, f)
		r.handshake(0, nil, 4000, false)
		require.NoError(t, s.Freeze(s.Leader()))
		for range 7 { // its follower answers all along
			r.sendAs(proto.XidPing, proto.OpPing, nil)
			require.Equal(t, proto.XidPing, r.receiveReply().xid)
			time.Sleep(time.Second)
		}
		require.Empty(t, log.endedSessions())
		require.NoError(t, s.Thaw(s.Leader()))
		time.Sleep(100 * time.Millisecond)
		require.Contains(t, log.endedSessions(), r.session)
		r.wantEOF()
	})
}

func TestReattachingElsewhereMovesTheSession(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		f, g := followers(s)
		a := openRaw(t, s, f)
		a.call(proto.OpCreate, create("/e", proto.FlagEphemeral))
		b := dialRaw(t, s, g)
		require.Equal(t, a.session, b.handshake(a.session, a.passwd, 10000, false))
		require.Equal(t, proto.OK, a.call(proto.OpExists, pathWatch("/e", false)).code, "the old connection still reads")
		a.send(proto.OpSetData, setData("/e", "x", -1))
		a.wantEOF() // the old connection cannot write; closed without an answer, so the outcome stays open
		require.Equal(t, proto.OK, b.call(proto.OpSetData, setData("/e", "y", 0)).code)
		require.Equal(t, g, s.Sessions()[0].Server)
	})
}

// N29, N30.
func TestLaggingFollowerServesStaleReadsUntilSync(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		f, g := followers(s)
		a, b := openRaw(t, s, f), openRaw(t, s, g)
		require.NoError(t, s.Lag(f, true))
		b.call(proto.OpCreate, create("/a", 0))
		time.Sleep(time.Second)
		require.Equal(t, proto.NoNode, a.call(proto.OpExists, pathWatch("/a", true)).code)
		own := a.send(proto.OpCreate, create("/own", 0))
		a.wantSilence(time.Second)
		require.NoError(t, s.Lag(f, false))
		typ, _ := a.receiveEvent()
		require.Equal(t, proto.EventNodeCreated, typ)
		require.Equal(t, own, a.receiveReply().xid)

		require.NoError(t, s.Lag(f, true))
		b.call(proto.OpCreate, create("/c", 0))
		time.Sleep(time.Second)
		sync := a.send(proto.OpSync, pathOnly("/"))
		a.wantSilence(time.Second)
		require.NoError(t, s.Lag(f, false))
		require.Equal(t, sync, a.receiveReply().xid)
		require.Equal(t, proto.OK, a.call(proto.OpExists, pathWatch("/c", false)).code)
		require.Error(t, s.Lag(9, true))
	})
}

func TestClientsSurviveTheLossOfTheirServer(t *testing.T) {
	inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
		c := connect(t, s, 10*time.Second)
		id := c.SessionID()
		_, err := c.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, _, w, err := c.GetW("/e")
		require.NoError(t, err)
		require.NoError(t, s.Stop(s.Sessions()[0].Server))
		c.waitState(t, zk.StateDisconnected)
		c.waitState(t, zk.StateHasSession)
		require.Equal(t, id, c.SessionID())
		time.Sleep(2 * time.Second)
		require.NoError(t, s.Set("/e", []byte("x")))
		require.Equal(t, zk.EventNodeDataChanged, (<-w).Type)
	})
}

func TestOneWayCutBetweenServers(t *testing.T) {
	for _, d := range []zktest.Direction{zktest.ToServer, zktest.ToClient} {
		inBubble(t, threeServers(), func(t *testing.T, s *zktest.Server) {
			l := s.Leader()
			f, g := followers(s)
			a := openRaw(t, s, f)
			s.CutPeers(l, f, d)
			require.Equal(t, proto.OK, openRaw(t, s, g).call(proto.OpCreate, create("/a", 0)).code, "the rest is a majority")
			sendHeartbeats(a, time.Minute)
			require.Equal(t, l, s.Leader())
			r := dialRaw(t, s, f)
			r.greet(0, nil, 10000, 0, false)
			r.wantEOF()
			s.HealPeers()
			time.Sleep(2 * time.Second)
			require.NotZero(t, openRaw(t, s, f).session)
		})
	}
}

func TestEverythingStopsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := zktest.Start(&zktest.Options{Servers: 5, InMemory: true})
		require.NoError(t, err)
		time.Sleep(time.Second)
		r := openRaw(t, s, 2)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		r.wantEOF()
		_, err = s.Dial(t.Context(), "tcp", s.ServerAddr(1))
		require.ErrorIs(t, err, zktest.ErrClosed)
	}) // the bubble fails if a goroutine is left
}

func TestWaitLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startMemory(t, threeServers())
		begin := time.Now()
		require.NoError(t, s.WaitLeader(t.Context()))
		require.InDelta(t, 0.2, time.Since(begin).Seconds(), 0.02)
		f, g := followers(s)
		require.NoError(t, s.Stop(f))
		require.NoError(t, s.Stop(g))
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, s.WaitLeader(ctx), context.DeadlineExceeded)
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.WaitLeader(t.Context()), zktest.ErrClosed)
	})
}
