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
// clients at once. Who looks for a lost create must not take that for "it was
// never made": the first node would stay in the queue, and block it.
func TestCreateThatIsProposedButNotCommittedIsFound_P1(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *world) {
		w.pass(time.Second)
		leader := w.srv.Leader()
		c := w.clientAt(w.srv.ServerAddr(leader), session.Options{})
		m := lock.New(c, dir, nil)
		w.unlock(w.lock(m))
		w.settle()

		// What the followers say to the leader comes late.
		for i := 1; i <= 3; i++ {
			if i != leader {
				w.srv.CutPeers(i, leader, zktest.ToServer)
			}
		}
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.CutAfter})
		out := w.begin(w.within(time.Minute), m)
		w.pass(100 * time.Millisecond)
		w.srv.Cut(w.id(c))
		w.pass(500 * time.Millisecond) // it has come back to the leader
		w.pending(out)
		w.srv.HealPeers()
		w.pass(5 * time.Second)
		require.Len(w, w.children(dir), 1)
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
		require.Empty(w, w.children(dir))
		w.unlock(w.lock(lock.New(w.client(), dir, nil)))
	})
}

// P1, CH4, CH22: who gives up with the create under way leaves nothing, and who
// waits behind gets in.
func TestCallerWhoGivesUpDuringTheCreateLeavesNothing_CH4(t *testing.T) {
	for name, late := range map[string]bool{"answer late": true, "request lost": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) {
				c := w.client()
				m := lock.New(c, dir, nil)
				w.unlock(w.lock(m))
				action := zktest.Action{Do: zktest.DropReplyHole}
				if late {
					action = zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second}
				}
				w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, action)
				began := time.Now()
				_, err := m.Lock(w.within(100 * time.Millisecond))
				require.Error(w, err)
				require.Equal(w, 100*time.Millisecond, time.Since(began), "ctx bounds the call")
				w.pass(20 * time.Second)
				require.Empty(w, w.children(dir))
				w.unlock(w.lock(lock.New(w.client(), dir, nil)))
			})
		})
	}
}

// CH22, CH54: a client that is closed while a create is in flight.
func TestClientClosedDuringTheCreateLeavesNothing_CH22(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.client()
		m := lock.New(c, dir, nil)
		w.unlock(w.lock(m))
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "create2" }, 1, zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second})
		out := w.begin(w.ctx, m)
		w.pass(time.Second)
		w.pending(out)
		require.NoError(w, c.Close(w.within(time.Minute)))
		g := <-out
		require.ErrorIs(w, g.err, session.ErrClosed)
		w.pass(time.Minute)
		require.Empty(w, w.children(dir))
	})
}

// P14, CH1: the delete of a TryLock that failed, or of a release, meets a
// broken link: it goes on until the znode is gone, while the session lives.
func TestDeleteThatFailsGoesOn_P14(t *testing.T) {
	for _, do := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropRequest, zktest.DropReplyHole} {
		inWorld(t, nil, func(w *world) {
			c := w.client()
			m := lock.New(c, dir, nil)
			h := w.lock(m)
			id := w.id(c)
			for range 3 {
				w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: do})
			}
			_ = h.Unlock(w.within(time.Millisecond)) // says that the deletion goes on
			w.pass(2 * time.Minute)
			require.Empty(w, w.children(dir))
			require.Equal(w, id, w.id(c), "the session lives")
			w.unlock(w.lock(m))
		})
	}
}

// P14, P15: nothing stays of many tries that fail under bad links.
func TestTriesLeaveNothing_P14_P15(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		a, b := w.client(), w.client()
		h := w.lock(lock.New(a, dir, nil))
		sem := lock.NewSemaphore(b, "/sem", 1, nil)
		p := w.acquire(lock.NewSemaphore(a, "/sem", 1, nil), 1)
		for i := range 200 {
			if i%10 == 0 {
				w.srv.CutLink(zktest.Link{Client: "c2"})
			}
			_, err := lock.New(b, dir, nil).TryLock(w.ctx)
			require.ErrorIs(w, err, lock.ErrBusy)
			_, err = sem.TryAcquire(w.ctx, 1)
			require.ErrorIs(w, err, lock.ErrBusy)
		}
		w.pass(10 * time.Second)
		require.Len(w, w.children(dir), 1)
		require.Len(w, w.children("/sem"), 1)
		require.NoError(w, p.Release(w.ctx))
		w.unlock(h)
	})
}
