package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A waiter granted the lock long after the last proof of its session sends no
// request to prove the session. An immediate heartbeat makes the hold survive an
// outage nevertheless.
func TestHoldWonLongAfterTheLastProofSurvivesAnOutage(t *testing.T) {
	world.Needs(t, world.Resumes)
	for at := time.Second; at < 10*time.Second; at += 100 * time.Millisecond {
		inWorld(t, nil, func(w *World) {
			before := w.lock(lock.New(w.Client(), dir, nil))
			c := w.ClientWith(session.Options{Timeout: 10 * time.Second, TickTime: 2 * time.Second})
			out := w.startLock(w.Ctx, lock.New(c, dir, nil))
			w.Pass(30 * time.Second)
			w.unlock(w.lock(lock.New(c, "/locks/b", nil))) // a proof
			w.Pass(at)
			w.unlock(before)
			h := (<-out).held
			w.Pass(100 * time.Millisecond)
			w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
			w.Pass(4500 * time.Millisecond)
			w.Server.Heal()
			w.Pass(10 * time.Second)
			require.NoError(w, h.Context().Err(), "%v after the proof", at)
			w.unlock(h)
		})
	}
}
