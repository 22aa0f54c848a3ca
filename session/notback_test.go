package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// readA is what a client reads at /a through ReadSession within d; "" if no server answers.
func (w *world) readA(c *Client, d time.Duration) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	for ctx.Err() == nil {
		s, err := c.ReadSession(ctx)
		if err != nil {
			break
		}
		if data, _, err := s.Get(ctx, "/a"); err == nil {
			return string(data)
		}
	}
	return ""
}

// A client whose last commit is older than what it has read from a server without a quorum
// does not read an older state from another one.
func TestReadSessionsDoNotGoBackBehindAnOlderCommit(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		require.NoError(w, w.srv.Stop(3))
		w.sleep(10 * time.Second)
		c := w.connect("reader", &Options{ReadOnly: true})
		defer w.close(c)
		_, err := w.session(c).Txn(w.ctx, CheckOp("/a", -1))
		require.NoError(w, err)
		w.srv.BlackHole(zktest.Link{Client: "reader"}, zktest.Both)
		w.sleep(time.Second)
		_, err = w.session(w.client).Set(w.ctx, "/a", []byte("y"), -1)
		require.NoError(w, err)
		w.sleep(time.Second)
		require.NoError(w, w.srv.Stop(2))
		w.sleep(5 * time.Second)
		w.srv.Heal()
		require.Equal(w, "y", w.readA(c, time.Minute))
		require.True(w, w.readSession(c).ReadOnly())

		require.NoError(w, w.srv.Stop(1))
		require.NoError(w, w.srv.Restart(3))
		w.sleep(5 * time.Second)
		assert.Empty(w, w.readA(c, time.Minute), "server 3 knows less")
		require.NoError(w, w.srv.Restart(1))
		assert.Equal(w, "y", w.readA(c, time.Minute))
	})
}

// The session with a quorum does not go behind what was read without one.
func TestSessionDoesNotGoBackBehindAServerWithoutAQuorum(t *testing.T) {
	o := &Options{ReadOnly: true, Timeout: 2 * time.Minute}
	inWorld(t, &zktest.Options{Servers: 5, ReadOnly: true, MaxSessionTimeout: 2 * time.Minute}, nil, func(w *world) {
		w.createNode("/a", "x")
		w.sleep(time.Second)
		alone, late := 0, 0
		for i := 1; i <= 5; i++ {
			if i != w.srv.Leader() {
				alone, late = late, i
			}
		}
		c := w.connect("reader", o)
		defer w.close(c)
		s := w.session(c)
		link := func(i int) zktest.Link { return zktest.Link{Client: "reader", Server: i} }
		for i := 1; i <= 5; i++ {
			w.srv.BlackHole(link(i), zktest.Both)
		}
		w.srv.Cut(s.ID())
		require.NoError(w, w.srv.Lag(late, true))
		w.sleep(time.Second)
		require.NoError(w, w.srv.Set("/a", []byte("y")))
		w.sleep(time.Second)
		w.srv.IsolateServer(alone)
		w.sleep(20 * time.Second) // until it has given up its leader
		w.srv.HealLink(link(alone))
		require.Equal(w, "y", w.readA(c, time.Minute))
		require.True(w, w.readSession(c).ReadOnly())

		w.srv.BlackHole(link(alone), zktest.Both)
		w.srv.CutLink(link(alone))
		w.srv.HealLink(link(late))
		assert.NotEqual(w, "x", w.readA(c, 5*time.Second), "server %d lags", late)
		require.NoError(w, w.srv.Lag(late, false))
		require.Equal(w, "y", w.readA(c, time.Minute))
		require.Same(w, s, w.session(c))
		require.NoError(w, s.Err())
	})
}

// The session for reads is over before the session with a quorum shows anything newer.
func TestReadSessionEndsBeforeTheSessionIsConnected(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		w.stopQuorum()
		s := w.readSession(w.client)
		require.True(w, s.ReadOnly())
		_, _, watch, err := s.GetW(w.ctx, "/a")
		require.NoError(w, err)
		connected := make(chan bool, 1)
		watch.OnFire(func(Event) { connected <- w.s.isConnected() })
		w.restartQuorum()
		assert.False(w, <-connected)
		_, _, err = s.Get(w.ctx, "/a")
		require.True(w, IsSessionLoss(err), "%v", err)
		require.Same(w, w.s, w.readSession(w.client))
	})
}

// A session for reads is not used if the client has had a connection since it was asked for.
func TestSessionForReadsThatComesLateIsNotUsed(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		w.stopQuorum()
		s := w.readSession(w.client)
		w.client.setReading(nil)
		demanded := s.demanded.Load()
		s.demanded.Store(0)
		assert.False(w, w.client.beginReading(s), "it may be behind")
		s.demanded.Store(demanded)
		w.client.endReading(w.s)
		assert.False(w, w.client.beginReading(s), "the client is connected")
		w.client.noteDetached(w.s)
		assert.True(w, w.client.beginReading(s))
	})
}

// showUnconfirmed makes the client believe that it has read a change that no quorum has.
func (w *world) showUnconfirmed() {
	w.client.mu.Lock()
	defer w.client.mu.Unlock()
	w.client.known.zxid = 1 << 60
}

// A change that was never confirmed by a quorum is forgotten, and costs the client no session.
func TestUnconfirmedChangeIsForgotten(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		hold := w.createHeld(w.s, "/held")
		w.showUnconfirmed()
		w.srv.Cut(w.s.ID())
		require.NoError(w, w.s.Sync(w.within(10*time.Second), "/"))
		assert.Less(w, w.client.lastKnown().zxid, int64(1<<60), "a commit shows that the change has gone")
		w.sleep(time.Minute)
		require.NoError(w, hold.Context().Err())

		w.showUnconfirmed()
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-w.s.Context().Done()
		next, err := w.client.Session(w.within(10 * time.Second))
		require.NoError(w, err)
		require.NoError(w, next.Sync(w.ctx, "/"))
		assert.Less(w, w.client.lastKnown().zxid, int64(1<<60), "in a new session, too")

		w.showUnconfirmed()
		_, err = next.Txn(w.ctx, CheckOp("/a", -1))
		require.NoError(w, err)
		assert.Less(w, w.client.lastKnown().zxid, int64(1<<60), "and by any other transaction")
	})
}

// Whatever becomes of the transaction by which a new session catches up, a new session is made.
func TestNewSessionCatchesUpUnderEveryFault(t *testing.T) {
	for name, fault := range map[string]zktest.Fault{
		"request lost": zktest.DropRequest, "cut before": zktest.CutBefore, "reply lost, cut": zktest.DropReplyCut,
		"cut after": zktest.CutAfter, "reply lost": zktest.DropReplyHole, "expired": zktest.ExpireBefore,
	} {
		withoutQuorum(t, func(w *world) {
			hits := 0
			w.srv.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Session == w.s.ID() || r.Op != "multi" {
					return zktest.Action{}
				}
				if hits++; hits > 1 {
					return zktest.Action{}
				}
				return zktest.Action{Do: fault}
			})
			require.NoError(w, w.srv.ExpireSession(w.s.ID()))
			<-w.s.Context().Done()
			assert.Equal(w, "x", w.readA(w.client, time.Minute), name)
			assert.Positive(w, hits, name)
		})
	}
}

// Close ends the catching up of a new session.
func TestCloseWhileANewSessionCatchesUp(t *testing.T) {
	withoutQuorum(t, func(w *world) {
		w.createNode("/b", "")
		c := w.connect("late", &Options{ReadOnly: true})
		s := w.session(c)
		require.NoError(w, s.Sync(w.ctx, "/"))
		remove := w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "multi" }, 1, zktest.Action{Do: zktest.DropReplyHole})
		defer remove()
		require.NoError(w, w.srv.ExpireSession(s.ID()))
		w.sleep(time.Second)
		begun := time.Now()
		w.close(c)
		assert.Less(w, time.Since(begun), 5*time.Second)
	})
}
