package session

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The first program of the README, told to stop during an outage, must end
// before the outage does.
func TestCloseWithoutEndWaitsATimeoutForADeletionAndNoLonger(t *testing.T) {
	for name, away := range map[string]func(w *world){
		"stopped":      func(w *world) { must(w.srv.Stop(1)) },
		"out of reach": func(w *world) { w.srv.BlackHole(zktest.Link{}, zktest.Both) },
		"frozen":       func(w *world) { must(w.srv.Freeze(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				w.createNode("/mine", "")
				away(w)
				ended, cancel := context.WithCancel(w.ctx)
				cancel()
				require.Error(w, w.s.EnsureDeleted(ended, "/mine"))
				began := time.Now()
				require.NoError(w, w.client.Close(context.Background()))
				require.Less(w, time.Since(began), w.s.Timeout()+4*time.Second)
			})
		})
	}
}

func TestGiveBackContextEndsATimeoutAfterTheLastAnswerAndNotBefore(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		ctx, cancel := w.s.GiveBackContext(context.Background())
		defer cancel()
		w.sleep(time.Minute)
		require.NoError(w, ctx.Err(), "servers answer")
		require.NoError(w, w.s.Sync(w.ctx, "/"))
		last := time.Now()
		require.NoError(w, w.srv.Stop(1))
		<-ctx.Done()
		require.Equal(w, w.s.Timeout(), time.Since(last))
		cause := context.Cause(ctx)
		require.ErrorIs(w, cause, ErrLost)
		require.ErrorIs(w, cause, ErrTrustRanOut)

		late, cancel := w.s.GiveBackContext(context.Background())
		defer cancel()
		<-late.Done()
		require.Equal(w, w.s.Timeout(), time.Since(last), "no call waits for a second timeout")

		mine, stop := context.WithCancelCause(context.Background())
		stop(ErrReleased)
		both, cancel := w.s.GiveBackContext(mine)
		defer cancel()
		require.Equal(w, ErrReleased, context.Cause(both), "the caller's own end counts")
	})
}

// A session that is given up during the outage leaves the znode to the servers,
// which keep the znode for a session timeout after their return.
func TestDeletionInTheBackgroundIsMadeAsSoonAsAServerIsBack(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Stop(1))
		h.End(nil)
		ctx, cancel := w.s.GiveBackContext(context.Background())
		defer cancel()
		err := w.s.EnsureDeleted(ctx, "/h")
		require.ErrorIs(w, err, ErrTrustRanOut)
		require.EqualError(w, err, "session: delete /h: no server has answered for a session timeout, so what is given back may be lost: "+ErrTrustRanOut.Error())

		// An operation of the same session, as an arrival at a barrier may be.
		ended := make(chan error, 1)
		// Waited for below; ends with the outage.
		go func() { ended <- w.s.Sync(w.ctx, "/") }()
		w.sleep(time.Minute)
		require.NoError(w, w.srv.Restart(1))
		require.NoError(w, <-ended)
		require.NoError(w, w.s.Err())
		// The deletion may have been sent after the sync.
		synctest.Wait()
		require.False(w, w.exists("/h"))
	})
}

func TestGiveBackContextOfAClientFollowsItsSessions(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		ctx, cancel := w.client.GiveBackContext(context.Background())
		defer cancel()
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-h.Context().Done()
		w.sleep(time.Minute)
		require.NoError(w, ctx.Err(), "the next session's server answers")

		next := w.session(w.client)
		h = w.createHeld(next, "/h")
		last := time.Now()
		require.NoError(w, w.srv.Stop(1))
		<-h.Context().Done() // and there is no session any more
		none, cancel := w.client.GiveBackContext(context.Background())
		defer cancel()
		began := time.Now()
		<-none.Done()
		require.Equal(w, DefaultTimeout, time.Since(began))
		<-ctx.Done()
		require.Greater(w, time.Since(last), DefaultTimeout)
	})
}

// A loss of the session between two answers does not count as silence: the time counts
// from the last answer, whenever the context was made, and the context ends though no
// session follows.
func TestGiveBackContextOfAClientCountsFromTheLastAnswerOverALoss(t *testing.T) {
	for offset := range 10 {
		inWorld(t, nil, nil, func(w *world) {
			h := w.createHeld(w.s, "/h")
			w.sleep(time.Duration(offset) * time.Second)
			ctx, cancel := w.client.GiveBackContext(context.Background())
			defer cancel()
			w.sleep(time.Minute)
			require.NoError(w, w.s.Sync(w.ctx, "/"))
			last := time.Now()
			require.NoError(w, w.srv.Stop(1))
			<-h.Context().Done()
			synctest.Wait()
			require.True(w, w.client.current() == nil, "there is no session any more")
			<-ctx.Done()
			require.Equal(w, DefaultTimeout, time.Since(last))
		})
	}
}

// The deletion itself may be the request that costs the connection.
func TestBackgroundDeletionThatLosesItsConnectionEachTimeIsRepeatedWithPauses(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/mine", "")
		var deletions atomic.Int64
		var over atomic.Bool
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op != "delete" || over.Load() {
				return zktest.Action{}
			}
			deletions.Add(1)
			return zktest.Action{Do: zktest.CutBefore}
		})
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		require.Error(w, w.s.EnsureDeleted(ended, "/mine"))
		w.sleep(time.Minute)
		require.Greater(w, deletions.Load(), int64(5))
		require.Less(w, deletions.Load(), int64(50), "without pauses some 80")
		over.Store(true)
		w.sleep(10 * time.Second)
		require.False(w, w.exists("/mine"))
	})
}

// A handshake is an answer, also if nothing follows on its connection.
func TestGiveBackContextCountsFromAHandshake(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		ctx, cancel := w.s.GiveBackContext(context.Background())
		defer cancel()
		require.NoError(w, w.srv.Stop(1))
		w.sleep(5 * time.Second)
		require.NoError(w, w.srv.Restart(1))
		for w.client.State().Status != Connected {
			w.sleep(time.Millisecond)
		}
		last := time.Now()
		require.NoError(w, w.srv.Stop(1))
		<-ctx.Done()
		require.InDelta(w, w.s.Timeout(), time.Since(last), float64(10*time.Millisecond))
	})
}
