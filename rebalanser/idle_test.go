package rebalanser_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// patient starts a member with a session timeout.
func (w *World) patient(memberID string, timeout time.Duration, o rebalanser.Options) *node {
	w.Helper()
	return w.nodeOf(w.ClientWith(session.Options{Timeout: timeout}), memberID, o).run()
}

// A member without resources does not wait when its context ends, not even for
// unreachable servers, with any session timeout. The error then says that no
// server has confirmed the leave.
func TestMemberWithoutResourcesEndsWithItsContext(t *testing.T) {
	for _, timeout := range []time.Duration{10 * time.Second, 40 * time.Second} {
		for _, o := range []rebalanser.Options{{}, {Instance: "one"}} {
			inBoth(t, func(w *World) {
				w.stock(0)
				n := w.patient("c2", timeout, o)
				w.Pass(time.Second)
				require.NoError(w, w.Server.Stop(1))
				w.Pass(100 * time.Millisecond)
				began := time.Now()
				n.stopIt()
				err := n.awaitEnd()
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
				require.ErrorContains(w, err, "there is no connection to a server")
				require.NotErrorIs(w, err, context.Canceled)
				require.Zero(w, time.Since(began), "T = %v", timeout)
				require.NoError(w, w.Server.Restart(1))
				w.Pass(time.Minute)
				require.Empty(w, w.Children(path+"/clients"))
				require.Empty(w, w.Children(path+"/instances/one"))
			})
		}
	}
}

// A connection lost silently is given one second.
func TestMemberWithoutResourcesEndsSoonWhenNothingIsAnswered(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(0)
		n := w.patient("c2", 40*time.Second, rebalanser.Options{Instance: "one"})
		w.Pass(time.Second)
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		began := time.Now()
		n.stopIt()
		err := n.awaitEnd()
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorContains(w, err, "no server has answered within 1s")
		require.LessOrEqual(w, time.Since(began), time.Second)
		w.Server.Heal()
		w.Pass(2 * time.Minute)
		require.Empty(w, w.Children(path+"/clients"))
	})
}

// A member with resources gives them up first. Run ends at the latest when the
// handler has returned and the session is given up.
func TestMemberWithResourcesEndsWithItsSession(t *testing.T) {
	const handler = 3 * time.Second
	inBoth(t, func(w *World) {
		w.stock(2)
		n := w.node("c2", rebalanser.Options{Instance: "one"})
		n.before = slowly(handler)
		n.run()
		w.Pass(time.Second)
		timeout := w.Session(n.client).Timeout()
		require.NoError(w, w.Server.Stop(1))
		began := time.Now()
		n.stopIt()
		require.ErrorIs(w, n.awaitEnd(), session.ErrLost, "the release is not confirmed")
		require.LessOrEqual(w, time.Since(began), handler+timeout)
		require.NoError(w, w.Server.Restart(1))
		world.Pause(time.Minute)
	})
}
