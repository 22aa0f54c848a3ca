package contender_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// startAwait starts c.Await, and returns once c waits.
func (w *world) startAwait(c *contender.Contender) <-chan error {
	out := make(chan error, 1)
	// Waited for by the test; ends when c is granted, or gone.
	go func() { out <- c.Await(w.ctx) }()
	synctest.Wait()
	return out
}

// waitLong waits until a waiting contender watches its own znode. waitLong runs in
// a bubble.
func (w *world) waitLong() {
	time.Sleep(w.s.Heartbeat() + time.Second)
	synctest.Wait()
	w.srv.ResetStats()
}

// A contender further back has seen its predecessor at the head before its turn
// comes, and then sends no request.
func TestTurnIsTakenWithoutARequest(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second, third := w.enter(w.s, spec()), w.enter(w.s, spec()), w.enter(w.s, spec())
		s := w.session()
		out := w.startAwait(w.enter(s, spec()))
		w.waitLong()
		require.NoError(w, first.Leave(w.ctx))
		synctest.Wait()
		require.Empty(w, w.requestsOf(s), "the fourth waits for the second or the third")
		require.NoError(w, second.Leave(w.ctx))
		synctest.Wait()
		require.Equal(w, map[string]int{"getChildren2": 1}, w.requestsOf(s), "the fourth gets ready")
		w.srv.ResetStats()
		require.NoError(w, third.Leave(w.ctx))
		require.NoError(w, <-out)
		require.Empty(w, w.requestsOf(s))
	})
}

// Only the two contenders that it watches are ahead of the third.
func TestThirdInLineListsNothing(t *testing.T) {
	for _, order := range []string{"the holder first", "the second first"} {
		t.Run(order, func(t *testing.T) {
			inWorld(t, func(w *world) {
				first, second := w.enter(w.s, spec()), w.enter(w.s, spec())
				if order == "the second first" {
					first, second = second, first
				}
				s := w.session()
				out := w.startAwait(w.enter(s, spec()))
				w.waitLong()
				require.NoError(w, first.Leave(w.ctx))
				synctest.Wait()
				require.Empty(w, out)
				require.NoError(w, second.Leave(w.ctx))
				require.NoError(w, <-out)
				require.Empty(w, w.requestsOf(s))
			})
		})
	}
}

func TestDeletionOfTheOwnNodeIsLearnedFromItsWatchAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.session(), spec())
		second := w.enter(w.s, spec())
		out := w.startAwait(second)
		w.waitLong()
		require.NoError(w, w.srv.Delete(second.Node().Path))
		require.ErrorIs(w, <-out, contender.ErrGone)
		require.Empty(w, w.requestsOf(w.s))
	})
}

func TestChangeOfTheOwnNodeIsNoDeletion(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.enter(w.session(), spec()), w.enter(w.s, spec())
		out := w.startAwait(second)
		w.waitLong()
		require.NoError(w, w.srv.Set(second.Node().Path, []byte("changed")))
		synctest.Wait()
		require.Empty(w, out)
		require.NoError(w, first.Leave(w.ctx))
		require.NoError(w, <-out)
	})
}

// A deleted contender leaves no watch for a znode of its name behind.
func TestNodeThatIsGoneBeforeItIsWatchedIsNotWatched(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.session(), spec())
		second := w.enter(w.s, spec())
		out := w.startAwait(second)
		require.NoError(w, w.srv.Delete(second.Node().Path))
		require.ErrorIs(w, <-out, contender.ErrGone)
		synctest.Wait()
		require.NotContains(w, w.srv.Watches(), second.Node().Path)
	})
}

// The server may refuse to delete the node; no watch stays on the node.
func TestLeaveTakesTheWatchOfItsOwnNodeBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.session(), spec())
		second := w.enter(w.s, spec())
		ctx, cancel := context.WithTimeout(w.ctx, w.s.Heartbeat()+time.Second)
		defer cancel()
		require.ErrorIs(w, second.Await(ctx), context.DeadlineExceeded)
		require.Contains(w, w.srv.Watches(), second.Node().Path)
		_, err := w.s.SetACL(w.ctx, dir, session.WorldACL(session.PermAll&^session.PermDelete), -1)
		require.NoError(w, err)
		require.ErrorIs(w, second.Leave(w.ctx), session.ErrNoAuth)
		synctest.Wait()
		require.Empty(w, w.srv.Watches())
	})
}

// The answer that sets a watch arrives after the end of the wait.
func TestWatchThatComesTooLateIsTakenBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.session(), spec())
		second := w.enter(w.s, spec())
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "getData" }, 1,
			zktest.Action{Do: zktest.DelayReply, For: time.Second})
		ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(w, second.Await(ctx), context.DeadlineExceeded)
		require.NoError(w, second.Leave(w.ctx))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Empty(w, w.srv.Watches())
	})
}

// Connections lost long ago do not make a contender wait long before the next
// watch.
func TestPauseIsShortAgainAfterAWatchWasSet(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.session(), spec())
		w.enter(w.session(), spec())
		s := w.session()
		third, fourth := w.enter(w.session(), spec()), w.enter(s, spec())
		cuts := 8
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op != "getData" || cuts == 0 {
				return zktest.Action{}
			}
			cuts--
			return zktest.Action{Do: zktest.CutBefore}
		})
		w.startAwait(fourth)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(w, w.srv.Watches(), third.Node().Path)
		cuts = 1
		w.srv.ResetStats()
		began := time.Now()
		var took time.Duration
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" {
				took = time.Since(began)
			}
			return zktest.Action{}
		})
		require.NoError(w, third.Leave(w.ctx))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(w, cuts)
		require.Less(w, took, time.Second)
	})
}
