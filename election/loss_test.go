package election_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// How leadership is lost, how the leader finds out, and how long it takes until
// somebody else leads.

// P2, P29, N21, N22, M20, D5: a leader that is cut off, in whatever direction
// packets get lost, is told before the next one leads; and the next one leads
// within the session timeout, a tick and a round trip (D15).
func TestLeaderIsToldBeforeTheNextOneLeads_P29_N22_M20(t *testing.T) {
	for name, d := range map[string]zktest.Direction{"both": zktest.Both, "to server": zktest.ToServer, "to client": zktest.ToClient} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.line(2)
				l := w.leads(q.outs[0])
				w.Pass(3700 * time.Millisecond)
				cut := time.Now()
				w.Server.BlackHole(zktest.Link{Client: "c1"}, d)
				<-l.Context().Done()
				told := time.Now()
				require.ErrorIs(w, context.Cause(l.Context()), session.ErrTrustRanOut)
				g := <-q.outs[1]
				require.NoError(w, g.err)
				require.False(w, g.at.Before(told), "it led before the leader was told")
				// The server has the last word of the old leader up to a ping
				// (a third of the timeout) after the cut, if only the answers
				// are lost.
				require.LessOrEqual(w, g.at.Sub(cut), 2*session.DefaultTimeout)
				require.Greater(w, g.lead.Token(), l.Token())
				require.Greater(w, g.lead.Term(), l.Term())
				require.ErrorIs(w, l.Resign(w.Ctx), session.ErrLost)
				w.Logf("told %v, led %v after the cut", told.Sub(cut), g.at.Sub(cut))
				w.Server.Heal()
				w.resign(g.lead)
			})
		})
	}
}

// D15: the three ways of fail-over, in virtual time. A resignation costs one
// round trip of which the next one sees the half back, a closed client the same,
// and a crash what the servers wait before they expire a session.
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

// With a session that is trusted already, the next one leads when the event is
// there: one way of the deletion, one way of the event.
func TestResignationIsKnownInOneRoundTrip(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const oneWay = 10 * time.Millisecond
		a, b := w.Client(), w.Client()
		l := w.campaign(elector(a, "a"))
		// The next one holds something else, as a process does that leads
		// elsewhere, too.
		other := w.campaign(election.New(b, "/election/b", nil))
		out := w.begin(w.Ctx, elector(b, "b").Campaign)
		w.Pass(10 * time.Minute)
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		w.Pass(time.Second)
		w.Server.ResetStats()
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

// P4, N23, M16, R12: a leader whose process was frozen does not know of its loss. Its
// writes in progress are refused by guard and token.
func TestWriteOfAFrozenLeaderIsRefused_N23_M16(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		require.NoError(w, w.Server.Create("/plan", []byte("empty")))
		l := w.campaign(elector(a, "a"))
		guard, token := l.Guard(), l.Token() // what its frozen goroutine has at hand
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		next := w.campaign(elector(b, "b"))
		s := next.Session()
		_, err := s.Txn(w.Ctx, next.Guard(), session.SetOp("/plan", []byte("new"), -1))
		require.NoError(w, err)
		w.Server.Heal()
		for _, c := range []*session.Client{a, b} { // whatever session carries it
			_, err = w.Session(c).Txn(w.Ctx, guard, session.SetOp("/plan", []byte("old"), -1))
			require.ErrorIs(w, err, session.ErrNoNode)
		}
		data, _, err := s.Get(w.Ctx, "/plan")
		require.NoError(w, err)
		require.Equal(w, "new", string(data))
		require.Greater(w, next.Token(), token)
		w.resign(next)
	})
}

// P3, CH34: a session that is lost while its candidate waits costs the place, and
// Campaign goes on at the end of the queue.
func TestCampaignGoesOnInTheNextSession_P3_CH34(t *testing.T) {
	for _, resign := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			l := w.campaign(elector(w.Client(), "leader"))
			c := w.Client()
			out := w.begin(w.Ctx, elector(c, "second").Campaign)
			old := w.ID(c)
			w.Expire(c)
			if !resign {
				w.Pass(10 * time.Second)
				w.pending(out)
				require.Len(w, w.Children(dir), 2, "it waits again")
			}
			w.resign(l)
			second := w.leads(out)
			w.Settle()
			require.NoError(w, second.Context().Err())
			require.NotEqual(w, old, second.Session().ID())
			w.resign(second)
			w.Settle()
			require.Empty(w, w.Children(dir))
		})
	}
}

// CH7, CH8, CH28, PD4: the session ends with the answer to the create, or while
// the client looks for the node whose answer was lost. The node of the old
// session, which the servers may show for a while, must not be taken for that of
// the new one.
func TestNodeOfTheOldSessionIsNotOurs_CH7_CH8_CH28(t *testing.T) {
	is := func(op string) func(zktest.Request) bool { return func(r zktest.Request) bool { return r.Op == op } }
	for name, faults := range map[string]func(s *zktest.Server){
		"with the answer": func(s *zktest.Server) { s.FailNth(is("create2"), 1, zktest.Action{Do: zktest.ExpireAfter}) },
		"during the search": func(s *zktest.Server) {
			s.FailNth(is("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
			s.FailNth(is("getChildren2"), 2, zktest.Action{Do: zktest.ExpireBefore}) // the first went with the create
		},
		"with the search's answer": func(s *zktest.Server) {
			s.FailNth(is("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
			s.FailNth(is("getChildren2"), 2, zktest.Action{Do: zktest.ExpireAfter})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				w.Pass(time.Second)
				c := w.Client()
				w.resign(w.campaign(elector(c, "me")))
				old := w.ID(c)
				faults(w.Server)
				l := w.campaign(elector(c, "me"))
				w.Pass(30 * time.Second) // all that dies has died
				require.NoError(w, l.Context().Err(), "%v", context.Cause(l.Context()))
				require.NotEqual(w, old, l.Session().ID())
				node, err := w.Server.Get(l.Path())
				require.NoError(w, err, "it leads without a node of its own")
				require.Equal(w, l.Session().ID(), node.EphemeralOwner)
				require.Len(w, w.Children(dir), 1)
				w.resign(l)
			})
		})
	}
}

// CH25: the members of the ensemble cannot talk to each other for a session
// timeout and more: never two leaders, and one in the end.
func TestEnsembleWithoutTalkHasNoTwoLeaders_CH25(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		w.Pass(time.Second)
		var electors []*election.Elector
		for i := 1; i <= 3; i++ {
			c := w.ClientAt(w.Server.ServerAddr(i), session.Options{})
			electors = append(electors, elector(c, fmt.Sprint(i)))
		}
		l := w.campaign(electors[0])
		outs := []<-chan won{w.begin(w.Ctx, electors[1].Campaign), w.begin(w.Ctx, electors[2].Campaign)}
		for i := 1; i <= 3; i++ {
			w.Server.IsolateServer(i)
		}
		w.Pass(30 * time.Second)
		require.Error(w, l.Context().Err(), "nobody can vouch for it")
		for _, out := range outs {
			w.pending(out)
		}
		w.Server.HealPeers()
		var next won
		select {
		case next = <-outs[0]:
		case next = <-outs[1]:
		}
		require.NoError(w, next.err)
		require.Greater(w, next.lead.Token(), l.Token())
		w.resign(next.lead)
		select {
		case next = <-outs[0]:
		case next = <-outs[1]:
		}
		require.NoError(w, next.err)
		w.resign(next.lead)
	})
}

// CH26, CH27, CH28: connections break again and again, for the leader and for
// those who wait: nobody queues up again, and nobody else leads.
func TestReconnectsChangeNothing_CH26_CH27(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		q := w.line(3)
		l := w.leads(q.outs[0])
		names := w.Children(dir)
		w.Server.ResetStats()
		for i := range 20 {
			w.Server.CutAll()
			if i%5 == 4 {
				require.NoError(w, w.Server.Stop(1+i%3))
				w.Pass(2 * time.Second)
				require.NoError(w, w.Server.Restart(1+i%3))
			}
			w.Pass(4 * time.Second)
			require.NoError(w, l.Context().Err(), "round %d", i)
		}
		require.Equal(w, names, w.Children(dir))
		require.Zero(w, w.Server.Stats().Requests["create2"]+w.Server.Stats().Requests["delete"], "no churn of writes")
		w.pending(q.outs[1])
		w.resign(l)
		w.resign(w.leads(q.outs[1]))
		w.resign(w.leads(q.outs[2]))
	})
}

// CH12: somebody deletes the leader's node.
func TestLeaderWhoseNodeIsDeletedIsTold(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute} {
		inWorld(t, nil, func(w *World) {
			q := w.line(2)
			l := w.leads(q.outs[0])
			w.Pass(after)
			require.NoError(w, w.Server.Delete(l.Path()))
			began := time.Now()
			<-l.Context().Done()
			require.LessOrEqual(w, time.Since(began), time.Second, "a heartbeat period")
			require.ErrorIs(w, context.Cause(l.Context()), session.ErrNodeDeleted)
			require.ErrorIs(w, l.Resign(w.Ctx), session.ErrNodeDeleted)
			require.ErrorIs(w, l.Resign(w.Ctx), session.ErrNodeDeleted, "a second time, too")
			w.resign(w.leads(q.outs[1]))
		})
	}
}

// P6, CH36: Resign with a context that has ended does not wait, and does not
// forget: the deletion goes on. A further Resign reports.
func TestResignWithAnEndedContextGoesOn_P6_CH36(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		for range 10 {
			l := w.campaign(e)
			ctx, cancel := context.WithCancel(w.Ctx)
			cancel()
			began := time.Now()
			if err := l.Resign(ctx); err != nil {
				require.ErrorIs(w, err, context.Canceled)
			}
			require.Zero(w, time.Since(began))
			w.Settle()
			require.Empty(w, w.Children(dir))
			require.ErrorIs(w, l.Resign(w.Ctx), election.ErrNotLeader)
		}
		w.resign(w.campaign(e))
	})
}

// P6: the server is away when the leader resigns.
func TestResignWhileTheServerIsAway_P6(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(2)
		l := w.leads(q.outs[0])
		require.NoError(w, w.Server.Stop(1))
		began := time.Now()
		require.ErrorIs(w, l.Resign(w.Within(2*time.Second)), context.DeadlineExceeded)
		require.Equal(w, 2*time.Second, time.Since(began))
		require.ErrorIs(w, context.Cause(l.Context()), session.ErrReleased)
		require.NoError(w, w.Server.Restart(1))
		w.resign(w.leads(q.outs[1]))
		w.Pass(20 * time.Second)
		require.Empty(w, w.Children(dir))
	})
}

// CH24: there is no server, or no session, when somebody campaigns.
func TestCampaignBeforeThereIsASession_CH24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		e := elector(c, "me")
		w.Expire(c)
		require.NoError(w, w.Server.Stop(1))
		w.Pass(time.Minute)
		out := w.begin(w.Ctx, e.Campaign)
		_, err := e.Campaign(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.pending(out)
		require.NoError(w, w.Server.Restart(1))
		w.resign(w.leads(out))
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

func TestCloseOfTheClientEndsEverything_CH24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(2)
		l := w.leads(q.outs[0])
		far := w.begin(w.Ctx, elector(q.clients[1], "again").Campaign)
		require.NoError(w, q.clients[1].Close(w.Ctx))
		require.ErrorIs(w, (<-q.outs[1]).err, session.ErrClosed)
		require.ErrorIs(w, (<-far).err, session.ErrClosed)
		e := elector(q.clients[0], "me")
		require.NoError(w, q.clients[0].Close(w.Ctx))
		require.ErrorIs(w, context.Cause(l.Context()), session.ErrClosed)
		require.ErrorIs(w, l.Resign(w.Ctx), session.ErrClosed)
		_, err := e.Campaign(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
		_, err = e.Leader(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
		require.ErrorIs(w, e.Run(w.Ctx, func(context.Context, *election.Leadership) error { return nil }), session.ErrClosed)
		require.Empty(w, w.Children(dir))
	})
}

// The resigning is the first to hear of it.
func TestResigningFromAZnodeThatSomebodyHasDeletedTellsTheLoss(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l, err := election.New(w.Client(), dir, nil).Campaign(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, w.Server.Delete(l.Path()))
		require.ErrorIs(w, l.Resign(w.Ctx), session.ErrNodeDeleted)
	})
}
