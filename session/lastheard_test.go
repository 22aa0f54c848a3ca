package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// LastHeard counts from the send time of the last answered request. Pings keep
// LastHeard below a third of the timeout, a slow answer does not reduce it, and
// in a black hole it grows.
func TestSilenceCountsFromTheSendTimeOfWhatWasAnswered(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		for range 20 {
			time.Sleep(time.Second)
			require.LessOrEqual(w, time.Since(w.s.LastHeard()), w.s.Timeout()/3)
		}
		require.NoError(w, w.s.Sync(w.ctx, "/"))
		require.Zero(w, time.Since(w.s.LastHeard()))

		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "sync" }, 1, zktest.Action{Do: zktest.DelayReply, For: 2 * time.Second})
		require.NoError(w, w.s.Sync(w.ctx, "/"))
		require.GreaterOrEqual(w, time.Since(w.s.LastHeard()), 2*time.Second)

		require.NoError(w, w.s.Sync(w.ctx, "/"))
		w.srv.BlackHole(zktest.Link{Session: w.s.ID()}, zktest.Both)
		time.Sleep(9 * time.Second)
		require.GreaterOrEqual(w, time.Since(w.s.LastHeard()), 9*time.Second)
	})
}

// An ended session still tells the end of its trust. However late a caller
// finds out, and by any method, the session was not trusted longer.
func TestEndedSessionTellsUntilWhenItWasTrusted(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/held")
		w.srv.BlackHole(zktest.Link{Session: w.s.ID()}, zktest.Both)
		until := w.s.TrustedUntil()
		require.Equal(w, w.client.State().TrustedUntil, until)
		require.True(w, until.After(time.Now()))
		w.sleep(2 * w.s.Timeout())
		require.ErrorIs(w, h.Err(), ErrTrustRanOut)
		require.Equal(w, until, w.s.TrustedUntil())
		require.True(w, until.Before(time.Now()))
		require.NotEqual(w, until, w.client.State().TrustedUntil, "the value does not belong to the next session")
	})
}
