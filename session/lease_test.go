package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// acceptsHold reports whether the lease renewer accepts a new hold.
func (w *world) acceptsHold(s *Session) bool { return s.renewer.addHold(&Hold{s: s, path: "/h"}, true) }

// provable reports whether the servers surely keep s at this instant,
// independently of the holds.
func (w *world) provable(s *Session) bool {
	s.renewer.mu.Lock()
	defer s.renewer.mu.Unlock()
	return s.renewer.trust.valid(s.now())
}

// Hold checks the trust first. If the trust ends between that check and the taking of
// the hold, the lease renewer refuses the hold.
func TestLeaseRenewerTakesNoHoldWithoutTrust(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		require.False(w, w.acceptsHold(w.s), "nothing is proved yet")
		w.createHeld(w.s, "/held")
		require.True(w, w.acceptsHold(w.s))
		w.close(w.client)
		require.True(w, w.provable(w.s))
		require.False(w, w.acceptsHold(w.s), "the session is over")
	})
}

func TestLeaseRenewerTakesNoHoldWhileItsSessionIsDoomed(t *testing.T) {
	inWorld(t, nil, &Options{StopMargin: 2 * time.Second}, func(w *world) {
		h := w.createHeld(w.s, "/held")
		w.sleep(5 * time.Second)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		<-h.Context().Done()
		w.srv.Heal()
		_, err := w.s.Txn(w.ctx, CheckOp("/held", -1))
		require.NoError(w, err)
		require.True(w, w.provable(w.s))
		require.False(w, w.acceptsHold(w.s))
	})
}

// A heartbeat with a check of a missing znode proves nothing for the other
// holds.
func TestHeartbeatThatFindsAZnodeGoneIsRepeatedAtOnceForTheOthers(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		other := w.createHeld(w.s, "/other")
		w.sleep(w.s.Heartbeat() * 3 / 2)
		h := w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Delete("/h"))
		beats := w.heartbeats()
		w.sleep(w.s.Heartbeat())
		require.Equal(w, 2, beats())
		require.ErrorIs(w, h.Err(), ErrNodeDeleted)
		require.NoError(w, other.Err())
	})
}

// Under the weaker rule no heartbeat would find out: only the watch does, which
// is set with the first heartbeat.
func TestHoldEndsWhenItsZnodeWentBeforeItWasWatched(t *testing.T) {
	inWorld(t, nil, &Options{Trust: TrustAnswered}, func(w *world) {
		w.createHeld(w.s, "/other") // its heartbeat is first
		w.sleep(w.s.Heartbeat() * 3 / 2)
		h := w.createHeld(w.s, "/h")
		require.NoError(w, w.srv.Delete("/h"))
		w.sleep(2 * w.s.Heartbeat())
		require.ErrorIs(w, h.Err(), ErrNodeDeleted)
	})
}

func TestWatchThatWasLostWithItsConnectionIsSetAgain(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "exists" }, 1, zktest.Action{Do: zktest.CutBefore})
		h := w.createHeld(w.s, "/h")
		w.sleep(w.s.Timeout())
		began := time.Now()
		require.NoError(w, w.srv.Delete("/h"))
		<-h.Context().Done()
		require.Less(w, time.Since(began), 10*time.Millisecond, "a watch tells, not the next heartbeat")
		require.ErrorIs(w, h.Err(), ErrNodeDeleted)
	})
}
