package queuetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Connections break again and again, of holders and of waiters: nothing is lost, no
// contender queues up again, and none is granted anything out of turn.
func disconnectIsNoLoss(t *testing.T, tg Target) {
	world.Needs(t, world.Resumes)
	tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
		h := s.get(s.next().Acquire)
		first, second := s.startAcquire(s.Ctx, s.next().Rival), s.startAcquire(s.Ctx, s.next().Acquire)
		names := s.contenders()
		s.ResetStats()
		for i := range 30 {
			switch i % 3 {
			case 0:
				s.Server.CutAll()
			case 1:
				if !world.Has(world.ResumesInElections) {
					break
				}
				n := 1 + i/3%3
				require.NoError(s, s.Server.Stop(n))
				s.Pass(2 * time.Second)
				require.NoError(s, s.Server.Restart(n))
			case 2:
				s.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
				s.Pass(time.Second)
				s.Server.Heal()
			}
			s.Pass(4 * time.Second)
			require.NoError(s, h.Context().Err(), "round %d: %v", i, context.Cause(h.Context()))
			s.pending(first, second)
		}
		require.Equal(s, names, s.contenders())
		require.Zero(s, s.Server.Stats().Requests["create2"]+s.Server.Stats().Requests["create"]+s.Server.Stats().Requests["delete"], "no churn of writes")
		s.release(h)
		s.release(s.granted(first))
		s.release(s.granted(second))
	})
}

// The session ends with the answer to the create, or while the client looks for the
// znode whose answer was lost. The znode of the old session, which the servers may show
// for a while, must not be taken for that of the new one.
func oldNodeIsNotTaken(t *testing.T, tg Target) {
	lists := func(r zktest.Request) bool { return r.Op == "getChildren2" }
	search := func(do zktest.Fault) func(s *zktest.Server) {
		return func(s *zktest.Server) {
			s.FailNth(creates, 1, zktest.Action{Do: zktest.DropReplyCut})
			s.FailNth(lists, 2, zktest.Action{Do: do}) // the first went with the create
		}
	}
	for name, faults := range map[string]func(s *zktest.Server){
		"with the answer":          func(s *zktest.Server) { s.FailNth(creates, 1, zktest.Action{Do: zktest.ExpireAfter}) },
		"during the search":        search(zktest.ExpireBefore),
		"with the search's answer": search(zktest.ExpireAfter),
	} {
		t.Run(name, func(t *testing.T) {
			tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
				s.Pass(time.Second)
				c := s.Client()
				s.release(s.get(s.contender(c).Acquire))
				old := s.ID(c)
				faults(s.Server)
				h := s.get(s.contender(c).Acquire)
				s.Pass(30 * time.Second) // all that dies has died
				require.NoError(s, h.Context().Err(), "%v", context.Cause(h.Context()))
				require.NotEqual(s, old, h.Session().ID())
				node, err := s.Server.Get(h.Path())
				require.NoError(s, err, "it holds without a znode of its own")
				require.Equal(s, h.Session().ID(), node.EphemeralOwner)
				require.Len(s, s.contenders(), 1)
				s.release(h)
			})
		})
	}
}

// The servers cannot talk to each other for a session timeout and more: there are
// never two holders, and one holder in the end.
func ensembleWithoutTalk(t *testing.T, tg Target) {
	tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
		s.Pass(time.Second)
		var all []Contender
		for i := 1; i <= 3; i++ {
			all = append(all, s.contender(s.ClientAt(s.Server.ServerAddr(i), session.Options{})))
		}
		h := s.get(all[0].Acquire)
		outs := []<-chan won{s.startAcquire(s.Ctx, all[1].Rival), s.startAcquire(s.Ctx, all[2].Rival)}
		for i := 1; i <= 3; i++ {
			s.Server.IsolateServer(i)
		}
		s.Pass(30 * time.Second)
		require.Error(s, h.Context().Err(), "no server can vouch for it")
		s.pending(outs...)
		s.Server.HealPeers()
		for last := h; len(outs) > 0; {
			var next Held
			next, outs = s.oneGranted(outs)
			require.Greater(s, next.Token(), last.Token())
			s.pending(outs...)
			s.release(next)
			last = next
		}
	})
}

// There is no server, and no session, when a contender comes.
func acquireWithoutSession(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		c := s.Client()
		k := s.contender(c)
		s.Expire(c)
		require.NoError(s, s.Server.Stop(1))
		s.Pass(time.Minute)
		out := s.startAcquire(s.Ctx, k.Acquire)
		_, err := k.Acquire(s.Within(time.Second))
		require.ErrorIs(s, err, context.DeadlineExceeded)
		s.pending(out)
		require.NoError(s, s.Server.Restart(1))
		s.release(s.granted(out))
		s.empty()
	})
}

// The end of a client ends its holds and its waiting calls, and all calls say so.
func closeEndsEverything(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a, b := s.Client(), s.Client()
		k := s.contender(a)
		h := s.get(k.Acquire)
		near := s.startAcquire(s.Ctx, k.Rival)
		far := []<-chan won{s.startAcquire(s.Ctx, s.contender(b).Acquire), s.startAcquire(s.Ctx, s.contender(b).Rival)}
		require.NoError(s, b.Close(s.Ctx))
		for _, out := range far {
			require.ErrorIs(s, s.outcome(out).err, session.ErrClosed)
		}
		require.NoError(s, a.Close(s.Ctx))
		require.ErrorIs(s, s.outcome(near).err, session.ErrClosed)
		require.ErrorIs(s, context.Cause(h.Context()), session.ErrClosed)
		require.ErrorIs(s, h.Release(s.Ctx), session.ErrClosed)
		for name, call := range k.calling() {
			require.ErrorIs(s, call(s.Ctx), session.ErrClosed, fmt.Sprint(name))
		}
		require.Empty(s, s.contenders())
	})
}

// An ensemble that loses transactions after it acknowledged them can grant the same
// twice, and no client can prevent that. The library still guarantees that the former
// holder learns of its loss with the first heartbeat of its next connection, that its
// guarded writes are refused at once, and that tokens go on growing, since the epoch does.
func holderIsRolledBack(t *testing.T, tg Target) {
	world.Needs(t, world.ResumesInElections)
	for lost, why := range map[string]error{"node": session.ErrNodeDeleted, "session": session.ErrExpired} {
		t.Run(lost, func(t *testing.T) {
			tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
				other := s.Client()
				s.release(s.get(s.contender(other).Rival)) // the path exists before the mark
				var holder *session.Client
				if lost == "node" {
					holder = s.Client()
				}
				s.Settle()
				mark, err := s.Server.Mark()
				require.NoError(s, err)
				if holder == nil {
					holder = s.Client()
				}
				h := s.get(s.contender(holder).Acquire)
				s.Pass(time.Second)
				require.NoError(s, s.Server.RollBack(mark))
				s.Pass(time.Second) // the election
				require.NoError(s, s.Server.Create("/first", nil), "a change of the new epoch")

				back := s.reconnected(holder)
				s.awaitEnd(h)
				require.Less(s, time.Since(back), 50*time.Millisecond, "told with the first heartbeat of the connection")
				require.ErrorIs(s, context.Cause(h.Context()), why)
				require.ErrorIs(s, h.Release(s.Ctx), session.ErrLost)

				next := s.get(s.contender(other).Rival)
				require.Greater(s, next.Token(), h.Token())
				s.refused(h.Guard(), other)
				s.release(next)
			})
		})
	}
}

// reconnected waits until the client is connected again, after it was not.
func (s *scene) reconnected(c *session.Client) time.Time {
	s.Helper()
	suspended := false
	for st, err := range c.States(s.Within(time.Minute)) {
		require.NoError(s, err)
		if st.Status != session.Connected {
			suspended = true
		} else if suspended {
			break
		}
	}
	return time.Now()
}
