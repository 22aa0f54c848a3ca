package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// LastHeard counts from the send time of what was answered: pings keep it below a
// third of the timeout, an answer that takes long does not make it younger, and
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

// A session that has ended still tells until when it was trusted: however late a caller
// finds out, and by whatever method, the session was not trusted longer.
func TestEndedSessionTellsUntilWhenItWasTrusted(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.held(w.s, "/held")
		w.srv.BlackHole(zktest.Link{Session: w.s.ID()}, zktest.Both)
		until := w.s.TrustedUntil()
		require.Equal(w, w.client.State().TrustedUntil, until)
		require.True(w, until.After(time.Now()))
		w.sleep(2 * w.s.Timeout())
		require.ErrorIs(w, h.Err(), ErrTrustRanOut)
		require.Equal(w, until, w.s.TrustedUntil())
		require.True(w, until.Before(time.Now()))
		require.NotEqual(w, until, w.client.State().TrustedUntil, "it is none of the next session's")
	})
}
