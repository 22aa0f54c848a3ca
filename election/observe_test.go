package election_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// view is an observer that runs concurrently with the test.
type view struct {
	states chan election.State
	errs   chan error
}

// observe starts to observe; it ends with ctx at the latest.
func (w *World) observe(ctx context.Context, e *election.Elector) *view {
	v := &view{states: make(chan election.State, 1000), errs: make(chan error, 1)}
	// The bubble waits for it; it ends with ctx.
	go func() {
		for state, err := range e.Observe(ctx) {
			if err != nil {
				v.errs <- err
				return
			}
			v.states <- state
		}
		v.errs <- nil
	}()
	w.Settle()
	return v
}

// ids returns the ids of the leaders seen since the last call; "-" for no
// leader.
func (v *view) ids() []string {
	out := []string{}
	for {
		select {
		case s := <-v.states:
			if s.Leader == nil {
				out = append(out, "-")
			} else {
				out = append(out, s.Leader.ID)
			}
		default:
			return out
		}
	}
}

// P9, P30: the first state is the present state, whether the path exists or
// not, with or without a leader; "no leader" is a state.
func TestObserverSeesThePresentStateFirstAlsoWithoutALeader_P9(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		v := w.observe(w.Ctx, elector(b, ""))
		require.Equal(w, []string{"-"}, v.ids(), "no candidate ever led")
		l := w.campaign(elector(a, "first"))
		w.Settle()
		require.Equal(w, []string{"first"}, v.ids())
		require.Equal(w, []string{"first"}, w.observe(w.Ctx, elector(b, "")).ids())
		w.resign(l)
		w.Settle()
		require.Equal(w, []string{"-"}, v.ids(), "all resigned")
		require.Equal(w, []string{"-"}, w.observe(w.Ctx, elector(b, "")).ids(), "the path is there, and empty")
		w.Pass(5 * time.Minute) // the path is removed
		if world.Has(world.Containers) {
			require.Len(w, w.Server.Dump(), 2, "the root and the path's parent")
		}
		require.Empty(w, v.ids())
		l = w.campaign(elector(a, "again"))
		w.Settle()
		require.Equal(w, []string{"again"}, v.ids())
		w.resign(l)
	})
}

func TestObserverSeesLeadersInOrderOverResignationsAndDeaths(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(4)
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		w.resign(w.leads(q.outs[0]))
		w.Settle()
		w.Expire(q.clients[1])
		w.Pass(10 * time.Second) // it does not come back: it awaits one place
		w.resign(w.leads(q.outs[2]))
		w.Settle()
		require.NoError(w, w.Server.Delete(w.leads(q.outs[3]).Path()))
		w.Settle()
		require.Equal(w, []string{"c1", "c2", "c3", "c4", "-"}, v.ids())
	})
}

// Candidates behind the leader come and go: an observer is not woken, and the
// watch that it has is one.
func TestObserverIsNotWokenByWaitingCandidates(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		l := w.campaign(elector(w.Client(), "leader"))
		v := w.observe(w.Ctx, elector(c, ""))
		require.Equal(w, []string{"leader"}, v.ids())
		w.ResetStats()
		e := elector(w.Client(), "other")
		for range 20 {
			require.NoError(w, w.stand(e).Withdraw(w.Ctx))
		}
		w.Settle()
		require.Zero(w, w.Requests(c))
		require.Empty(w, v.ids())
		w.ResetStats()
		w.resign(l)
		w.Settle()
		// There is no leader any more: the path is read again, with a watch, and the leader's
		// value needs no watch.
		want := 2
		if world.Has(world.RemovesWatches) {
			want++
		}
		require.Equal(w, want, w.Requests(c), "%v", w.Server.Stats().BySession[w.ID(c)])
		require.Equal(w, []string{"-"}, v.ids())
	})
}

// P9: the leader leaves between the listing and the watch, or a leader comes
// between the reading of an empty path and its watch. An observer that relied on
// its first read would report that leader, or no leader, indefinitely.
func TestObserverHasNoGapBeforeItsWatch_P9(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(2)
		l := w.leads(q.outs[0])
		w.Once(func(r zktest.Request) bool { return r.Client == "c3" && r.Op == "getData" }, func() {
			require.NoError(w, w.Server.Delete(l.Path()))
		})
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		require.Equal(w, []string{"c2"}, v.ids())
		for _, op := range []string{"getChildren2", "exists"} {
			// The second listing, with a watch, of a path that is empty; the
			// look whether a path that was missing exists.
			n := 0
			path := map[string]string{"getChildren2": "/election/b", "exists": "/election/c"}[op]
			if op == "getChildren2" {
				require.NoError(w, w.Server.Create(path, nil))
			}
			w.Server.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Client == "c3" && r.Op == op && r.Path == path {
					if n++; n == map[string]int{"getChildren2": 2, "exists": 1}[op] {
						if op == "exists" {
							require.NoError(w, w.Server.Create(path, nil))
						}
						require.NoError(w, w.Server.Create(path+"/_c_x-latch-0000000007", []byte("new")))
					}
				}
				return zktest.Action{}
			})
			seen := w.observe(w.Ctx, election.New(q.w.observerClient(), path, nil))
			require.Equal(w, []string{"new"}, seen.ids(), op)
			if world.Has(world.RemovesWatches) {
				require.NotContains(w, w.Server.Watches(), path, "no watch is needed now")
			}
		}
	})
}

// observerClient is a client named like the third of the world.
func (w *World) observerClient() *session.Client {
	return w.ClientWith(session.Options{Dialer: w.Server.Client("c3")})
}

// A new session may begin on a server that lags behind: an observer must not go
// back to a leader that was deposed.
func TestObserverNeverGoesBackOnAServerThatLags(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		w.Pass(time.Second)
		q := w.line(2)
		behind := 1 + w.Server.Leader()%3
		c := w.Client()
		v := w.observe(w.Ctx, elector(c, ""))
		require.NoError(w, w.Server.Lag(behind, true))
		w.resign(w.leads(q.outs[0]))
		w.Pass(time.Second)
		w.Server.Heal()
		// The observer connects to the lagging server, in a new session.
		for i := 1; i <= 3; i++ {
			if i != behind {
				w.Server.BlackHole(zktest.Link{Client: "c3", Server: i}, zktest.Both)
			}
		}
		w.Expire(c)
		w.Pass(time.Minute)
		seen := v.ids()
		require.NoError(w, w.Server.Lag(behind, false))
		w.Server.Heal()
		w.Pass(time.Minute)
		seen = append(seen, v.ids()...)
		require.Equal(w, "c2", seen[len(seen)-1])
		require.NotContains(w, strings.Join(seen, " "), "c2 c1")
	})
}

// The leader, the only candidate, dies: its znode goes with its session, and then
// every observer sees no leader.
func TestDeadLeaderIsNotReportedIndefinitely(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		l := w.campaign(elector(a, "leader"))
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.Pass(30 * time.Second)
		require.Equal(w, []string{"leader", "-"}, v.ids())
		require.True(w, isLoss(l.Resign(w.Ctx)))
		require.Empty(w, w.leaderID(elector(w.Client(), "")))
		w.Server.Heal()
	})
}

func TestObserverGoesOnOverLostSessionsAndConnections(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		v := w.observe(w.Ctx, elector(c, ""))
		e := elector(w.Client(), "x")
		want := []string{"-"}
		for i := range 10 {
			if i%2 == 0 {
				w.Expire(c)
			} else {
				w.Server.CutAll()
			}
			l := w.campaign(e)
			w.Pass(10 * time.Second)
			w.resign(l)
			w.Pass(10 * time.Second)
			want = append(want, "x", "-")
		}
		require.Equal(w, want, v.ids())
	})
}

// The data of the leader's znode is part of the state.
func TestObserverSeesChangesOfTheLeadersData(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		l := w.campaign(elector(c, "before"))
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		_, err := w.Session(c).Set(w.Ctx, l.Path(), []byte("after"), -1)
		require.NoError(w, err)
		w.Settle()
		require.Equal(w, []string{"before", "after"}, v.ids())
		w.resign(l)
	})
}

// A stranger whose node is deleted and created again, with the same name and data, is
// another leader, by its token.
func TestObserverTellsANodeThatWasMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const name = dir + "/x-latch-0000000007"
		for _, path := range []string{"/election", dir, name} {
			require.NoError(w, w.Server.Create(path, nil))
		}
		c := w.Client()
		var tokens []int64
		for state, err := range elector(c, "").Observe(w.Ctx) {
			require.NoError(w, err)
			if tokens = append(tokens, state.Leader.Token); len(tokens) == 2 {
				break
			}
			require.NoError(w, w.Server.Delete(name))
			require.NoError(w, w.Server.Create(name, nil))
		}
		require.Greater(w, tokens[1], tokens[0])
	})
}

func TestObserverThatIsLeftTakesItsWatchAlong(t *testing.T) {
	world.Needs(t, world.RemovesWatches)
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		for i, lead := range []bool{false, true, false} {
			var l *election.Leadership
			if lead {
				l = w.campaign(elector(w.Client(), "x"))
				w.Pass(2 * time.Second) // it watches itself
			}
			base := w.Server.Stats().Watches
			for _, err := range elector(c, "").Observe(w.Ctx) {
				require.NoError(w, err)
				break
			}
			var last error
			for _, err := range elector(c, "").Observe(w.Within(time.Second)) {
				last = err
			}
			require.ErrorIs(w, last, context.DeadlineExceeded)
			require.Contains(w, last.Error(), "election: observe "+dir)
			w.Settle()
			require.Equal(w, base, w.Server.Stats().Watches, "round %d: %v", i, w.Server.Watches())
			if lead {
				w.resign(l)
			}
		}
		v := w.observe(w.Ctx, elector(c, ""))
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, <-v.errs, session.ErrClosed)
	})
}

// A slow reader skips what passed meanwhile.
func TestSlowObserverSkipsAndEndsWithTheTruth(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		var seen []string
		for state, err := range elector(w.Client(), "").Observe(w.Ctx) {
			require.NoError(w, err)
			if state.Leader == nil {
				for i := range 5 {
					l := w.campaign(elector(c, fmt.Sprint(i)))
					if i < 4 {
						w.resign(l)
					}
				}
				seen = append(seen, "-")
				continue
			}
			seen = append(seen, state.Leader.ID)
			break
		}
		require.Equal(w, []string{"-", "4"}, seen)
	})
}
