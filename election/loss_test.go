package election_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Tests of the loss of leadership: how the leader learns of it, and how long the next
// candidate waits.

// D15: the three ways of fail-over, in virtual time. After a resignation or the end
// of a client, the next candidate leads within a round trip; after a crash, when the
// servers expire the session.
func TestFailoverTime_D15(t *testing.T) {
	const oneWay, tick = 10 * time.Millisecond, 2 * time.Second
	for name, tc := range map[string]struct {
		end      func(w *World, q *queue, l *election.Leadership)
		min, max time.Duration
	}{
		"resign": {func(w *World, _ *queue, l *election.Leadership) { w.resign(l) }, 2 * oneWay, 2 * oneWay},
		"close":  {func(w *World, q *queue, _ *election.Leadership) { _ = q.clients[0].Close(w.Ctx) }, 2 * oneWay, 2 * oneWay},
		"crash": {func(w *World, _ *queue, _ *election.Leadership) {
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		}, session.DefaultTimeout * 2 / 3, session.DefaultTimeout + tick + 2*oneWay},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{TickTime: tick}, func(w *World) {
				q := w.line(3)
				l := w.leads(q.outs[0])
				for i := range 3 {
					w.Server.Delay(zktest.Link{Client: fmt.Sprintf("c%d", i+1)}, zktest.Both, oneWay)
				}
				w.Pass(time.Minute) // trust of the next one is old, too
				began := time.Now()
				tc.end(w, q, l)
				g := <-q.outs[1]
				require.NoError(w, g.err)
				took := g.at.Sub(began)
				w.Logf("%v", took)
				// Proof of the next one's own session: one round trip, or two
				// heartbeats if it has held nothing for long.
				require.GreaterOrEqual(w, took, tc.min)
				require.LessOrEqual(w, took, tc.max+2*time.Second)
				w.Server.Heal()
				w.resign(g.lead)
			})
		})
	}
}

// With a session that is trusted already, the next candidate leads when the event
// arrives: one way of the deletion, one way of the event.
func TestResignationIsKnownInOneRoundTrip(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const oneWay = 10 * time.Millisecond
		a, b := w.Client(), w.Client()
		l := w.campaign(elector(a, "a"))
		// The next one holds something else, as a process does that leads
		// elsewhere, too.
		other := w.campaign(election.New(b, "/election/b", nil))
		out := w.startWin(w.Ctx, elector(b, "b").Campaign)
		w.Pass(10 * time.Minute)
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		w.Pass(time.Second)
		w.ResetStats()
		began := time.Now()
		w.resign(l)
		require.Equal(w, 2*oneWay, time.Since(began))
		synctest.Wait()
		g := <-out
		require.NoError(w, g.err)
		require.Equal(w, 2*oneWay, g.at.Sub(began))
		counts := w.Server.Stats().BySession[w.ID(b)]
		require.Zero(w, counts["getChildren2"]+counts["getData"]+counts["exists"], "%v", counts)
		w.Server.Heal()
		w.resign(g.lead)
		w.resign(other)
	})
}
