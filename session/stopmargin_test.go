package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestReserveEndsWhatIsHeldFirstAndTheSessionAfter: the server goes silent. The
// hold ends a reserve before the session does, and the session well before the
// server lets go of its znodes.
func TestReserveEndsWhatIsHeldFirstAndTheSessionAfter(t *testing.T) {
	const reserve = 2 * time.Second
	inWorld(t, nil, &Options{StopMargin: reserve}, func(w *world) {
		h := w.reserveHold(w.s)
		w.sleep(5 * time.Second)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		<-h.Context().Done()
		early := time.Now()
		require.NoError(w, w.s.Err(), "the session outlives its holds")
		cause := context.Cause(h.Context())
		require.ErrorIs(w, cause, ErrLost)
		require.ErrorIs(w, cause, ErrTrustRanOut)
		<-w.s.Context().Done()
		assert.Equal(w, reserve, time.Since(early))
		require.ErrorIs(w, w.s.Err(), ErrTrustRanOut)
		assert.True(w, w.exists("/held"), "the server has not expired the session yet")
	})
}

// TestReservedHoldStaysLostThoughProofArrives: the server answers again within
// the reserve. A hold declared lost stays lost: the session accepts no new
// holds, and its znodes are deleted at the end of the reserve.
func TestReservedHoldStaysLostThoughProofArrives(t *testing.T) {
	const reserve = 2 * time.Second
	inWorld(t, nil, &Options{StopMargin: reserve}, func(w *world) {
		h := w.reserveHold(w.s)
		w.sleep(5 * time.Second)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		<-h.Context().Done()
		w.srv.Heal()
		early := time.Now()
		again, err := w.s.Hold(w.within(reserve-time.Millisecond), "/held", nil)
		assert.Nil(w, again)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		assert.True(w, w.exists("/held"), "no other client may get the node before the reserve is over")
		<-w.s.Context().Done()
		assert.Equal(w, reserve, time.Since(early))
		require.ErrorIs(w, h.Err(), ErrTrustRanOut)
		w.sleep(time.Second)
		assert.False(w, w.exists("/held"), "the session is closed, not left to expire")
		next := w.session(w.client)
		assert.NotEqual(w, w.s.ID(), next.ID())
		w.reserveHold(next)
	})
}

// TestReserveCostsNothingWhileTheServerAnswers: an hour, and the hold lasts.
func TestReserveCostsNothingWhileTheServerAnswers(t *testing.T) {
	for _, o := range []Options{
		{StopMargin: 2500 * time.Millisecond},
		{Timeout: 40 * time.Second, StopMargin: 10 * time.Second},
		{Timeout: 4 * time.Second, StopMargin: time.Second, TickTime: 2 * time.Second},
	} {
		inWorld(t, nil, &o, func(w *world) {
			h := w.reserveHold(w.s)
			w.sleep(30 * time.Minute)
			require.NoError(w, h.Err())
			h.End(nil)
			require.ErrorIs(w, h.Err(), ErrReleased)
			require.NoError(w, w.s.Err())
		})
	}
}

// TestReserveMustFitIntoTheTimeout: a too large reserve is refused, and the
// error names the sufficient timeout.
func TestReserveMustFitIntoTheTimeout(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		o := Options{Dialer: w.srv.Client("late"), StopMargin: 3 * time.Second}
		_, err := Connect(w.ctx, w.srv.Addr(), &o)
		require.ErrorIs(w, err, ErrTimeoutTooShort)
		require.ErrorContains(w, err, "at least 12s")
		o.StopMargin = -1
		_, err = Connect(w.ctx, w.srv.Addr(), &o)
		require.ErrorIs(w, err, ErrInvalidOption)
		require.ErrorContains(w, err, "StopMargin")
	})
}

// TestHoldWithTheLargestReserveMovesToAnotherServer: its own server goes
// silent, and the next server is slow.
func TestHoldWithTheLargestReserveMovesToAnotherServer(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		inWorld(t, &zktest.Options{Servers: 3}, &Options{Timeout: timeout, StopMargin: timeout / 4}, func(w *world) {
			h := w.reserveHold(w.s)
			w.sleep(timeout)
			for n := 1; n <= 3; n++ {
				if w.srv.ServerAddr(n) == w.client.State().Server {
					w.srv.BlackHole(zktest.Link{Server: n}, zktest.Both)
				} else {
					w.srv.Delay(zktest.Link{Server: n}, zktest.Both, timeout/40)
				}
			}
			w.sleep(2 * timeout)
			require.NoError(w, h.Err(), "timeout %v", timeout)
		})
	}
}

// reserveHold creates /held in s and holds it.
func (w *world) reserveHold(s *Session) *Hold {
	w.Helper()
	_, err := s.Create(w.ctx, "/held", nil, Ephemeral, nil)
	require.NoError(w, err)
	h, err := s.Hold(w.ctx, "/held", nil)
	require.NoError(w, err)
	return h
}
