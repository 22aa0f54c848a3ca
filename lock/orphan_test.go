package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// P1, CH3, PD3, PD4: a leader that is slow to commit answers a sync of its own
// clients at once. A client that looks for a lost create must not conclude from the reply
// that the node was never created: the first node would stay in the queue, and block it.
func TestCreateThatIsProposedButNotCommittedIsFound_P1(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		w.Pass(time.Second)
		leader := w.Server.Leader()
		c := w.ClientAt(w.Server.ServerAddr(leader), session.Options{})
		m := lock.New(c, dir, nil)
		w.unlock(w.lock(m))
		w.Settle()

		// Messages of the followers to the leader come late.
		for i := 1; i <= 3; i++ {
			if i != leader {
				w.Server.CutPeers(i, leader, zktest.ToServer)
			}
		}
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.CutAfter})
		out := w.begin(w.Within(time.Minute), m)
		w.Pass(100 * time.Millisecond)
		w.Server.Cut(w.ID(c))
		w.Pass(500 * time.Millisecond) // it has come back to the leader
		w.pending(out)
		w.Server.HealPeers()
		w.Pass(5 * time.Second)
		require.Len(w, w.Children(dir), 1)
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
		require.Empty(w, w.Children(dir))
		w.unlock(w.lock(lock.New(w.Client(), dir, nil)))
	})
}

// P1, CH4, CH22: who gives up with the create in progress leaves nothing, and who
// waits behind gets in.
func TestCallerWhoGivesUpDuringTheCreateLeavesNothing_CH4(t *testing.T) {
	for name, late := range map[string]bool{"answer late": true, "request lost": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := w.Client()
				m := lock.New(c, dir, nil)
				w.unlock(w.lock(m))
				action := zktest.Action{Do: zktest.DropReplyHole}
				if late {
					action = zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second}
				}
				w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, action)
				began := time.Now()
				_, err := m.Lock(w.Within(100 * time.Millisecond))
				require.Error(w, err)
				require.Equal(w, 100*time.Millisecond, time.Since(began), "ctx bounds the call")
				w.Pass(20 * time.Second)
				require.Empty(w, w.Children(dir))
				w.unlock(w.lock(lock.New(w.Client(), dir, nil)))
			})
		})
	}
}

// CH22, CH54: a client that is closed while a create is in flight.
func TestClientClosedDuringTheCreateLeavesNothing_CH22(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		w.unlock(w.lock(m))
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second})
		out := w.begin(w.Ctx, m)
		w.Pass(time.Second)
		w.pending(out)
		require.NoError(w, c.Close(w.Within(time.Minute)))
		g := <-out
		require.ErrorIs(w, g.err, session.ErrClosed)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(dir))
	})
}

// P14, CH1: the delete of a TryLock that failed, or of a release, meets a
// broken link: it goes on until the znode is gone, while the session lives.
func TestDeleteThatFailsGoesOn_P14(t *testing.T) {
	for _, do := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropRequest, zktest.DropReplyHole} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			m := lock.New(c, dir, nil)
			h := w.lock(m)
			id := w.ID(c)
			for range 3 {
				w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: do})
			}
			_ = h.Unlock(w.Within(time.Millisecond)) // says that the deletion goes on
			w.Pass(2 * time.Minute)
			require.Empty(w, w.Children(dir))
			require.Equal(w, id, w.ID(c), "the session lives")
			w.unlock(w.lock(m))
		})
	}
}

// P14, P15: nothing stays of many tries that fail under bad links.
func TestTriesLeaveNothing_P14_P15(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		h := w.lock(lock.New(a, dir, nil))
		sem := lock.NewSemaphore(b, "/sem", 1, nil)
		p := w.acquire(lock.NewSemaphore(a, "/sem", 1, nil), 1)
		for i := range 200 {
			if i%10 == 0 {
				w.Server.CutLink(zktest.Link{Client: "c2"})
			}
			_, err := lock.New(b, dir, nil).TryLock(w.Ctx)
			require.ErrorIs(w, err, lock.ErrBusy)
			_, err = sem.TryAcquire(w.Ctx, 1)
			require.ErrorIs(w, err, lock.ErrBusy)
		}
		w.Pass(10 * time.Second)
		require.Len(w, w.Children(dir), 1)
		require.Len(w, w.Children("/sem"), 1)
		require.NoError(w, p.Release(w.Ctx))
		w.unlock(h)
	})
}
