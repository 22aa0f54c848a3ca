package queuetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// losses are the scenarios of how a hold, or a place in the queue, is lost, and how that
// is found out.
func losses() map[string]scenario {
	return map[string]scenario{
		"HolderIsToldBeforeTheNextOneIsGranted_P2_P27_P29_N21_N22_M20_D5": holderIsToldFirst,
		"FormerHolderWaitsLikeAnyOther_CL10":                              formerHolderWaits,
		"WaiterWhoseSessionExpiresGoesOnInTheNext_P3_P11_CH34":            waiterExpires,
		"QueueClosesUpOverTheDead_P2_N19_N20":                             queueClosesUp,
		"WriteOfAFrozenHolderIsRefused_P4_N23_M16_R12_R16":                frozenHolderIsRefused,
		"HolderWhoseNodeIsDeletedIsTold_CH12_P2":                          deletedHolderIsTold,
		"ReleaseOfADeletedNodeTellsTheLoss":                               releaseTellsTheLoss,
		"DisconnectIsNoLoss_CH26_CH27_CH28":                               disconnectIsNoLoss,
		"NodeOfTheOldSessionIsNotTakenForTheNew_CH7_CH8_CH28_PD4":         oldNodeIsNotTaken,
		"EnsembleWithoutTalkHasNoTwoHolders_CH25":                         ensembleWithoutTalk,
		"AcquireBeforeThereIsASession_CH24":                               acquireWithoutSession,
		"HolderLearnsThatItsNodeWasRolledBack_PD12":                       holderIsRolledBack,
		"CloseOfTheClientEndsEverything_CH24":                             closeEndsEverything,
	}
}

// A holder that is cut off is told before the next one is granted, in whatever direction
// packets get lost.
func holderIsToldFirst(t *testing.T, tg Target) {
	for name, lost := range map[string]zktest.Direction{"both": zktest.Both, "to server": zktest.ToServer, "to client": zktest.ToClient} {
		for kind, o := range tg.orders() {
			t.Run(name+", "+kind, func(t *testing.T) {
				tg.in(t, nil, func(s *scene) {
					h := s.get(o.former(s.next()))
					s.Pass(3700 * time.Millisecond)
					b := s.Client()
					out := s.begin(s.Ctx, o.latter(s.contender(b)))
					cut := time.Now()
					s.Server.BlackHole(zktest.Link{Client: "c1"}, lost)
					s.ended(h)
					told := time.Now()
					require.ErrorIs(s, context.Cause(h.Context()), session.ErrLost)
					require.ErrorIs(s, context.Cause(h.Context()), session.ErrTrustRanOut)
					g := s.outcome(out)
					require.NoError(s, g.err)
					require.False(s, g.at.Before(told), "granted before the holder was told")
					// The server has the last word of the former holder up to a ping (a
					// third of the timeout) after the cut, if only the answers are lost.
					require.LessOrEqual(s, g.at.Sub(cut), 2*session.DefaultTimeout)
					require.Greater(s, g.held.Token(), h.Token())
					require.ErrorIs(s, h.Release(s.Ctx), session.ErrLost)
					s.Server.Heal()
					s.refused(h.Guard(), b)
					s.release(g.held)
				})
			})
		}
	}
}

// After a loss the same process contends like any other.
func formerHolderWaits(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a := s.Client()
		k := s.contender(a)
		h := s.get(k.Acquire)
		s.Expire(a)
		s.ended(h)
		other := s.get(s.next().Rival)
		if k.Try != nil {
			_, err := k.Try(s.Ctx)
			require.ErrorIs(s, err, s.Busy)
		}
		out := s.begin(s.Ctx, k.Acquire)
		s.Pass(time.Minute)
		s.pending(out)
		s.release(other)
		next := s.granted(out)
		require.ErrorIs(s, h.Release(s.Ctx), session.ErrLost)
		require.NoError(s, next.Context().Err(), "the late release of the first hold takes nothing from the second")
		s.release(next)
	})
}

// A waiter whose session expires must not be granted anything in the session that is
// gone. It goes on in the next one, behind all others.
func waiterExpires(t *testing.T, tg Target) {
	for name, releaseFirst := range map[string]bool{"release first": true, "queue first": false} {
		t.Run(name, func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				h := s.get(s.next().Rival)
				b := s.Client()
				out := s.begin(s.Ctx, s.contender(b).Acquire)
				old := s.ID(b)
				s.Expire(b)
				if !releaseFirst {
					s.Pass(10 * time.Second)
					s.pending(out)
					require.Len(s, s.contenders(), 2, "it waits again")
				}
				s.release(h)
				next := s.granted(out)
				require.NotEqual(s, old, next.Session().ID())
				s.release(next)
				s.empty()
			})
		})
	}
}

// A waiter dies, and the queue closes up; the holder dies, and the next one is granted.
// Nothing of a dead client stays.
func queueClosesUp(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		middle, stop := context.WithCancel(s.Ctx)
		s.begin(middle, s.next().Acquire)
		last := s.begin(s.Ctx, s.next().Rival)
		s.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both) // dies while it waits
		s.Pass(30 * time.Second)
		s.pending(last)
		s.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) // dies while it holds
		next := s.granted(last)
		require.Error(s, h.Context().Err())
		stop()
		s.Server.Heal()
		s.release(next)
		s.Pass(time.Minute)
		s.empty()
		require.Zero(s, s.Server.Stats().Watches)
	})
}

// A holder whose process was frozen does not know that it has lost. Its writes in flight
// are refused by guard and token, whatever session carries them.
func frozenHolderIsRefused(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a, b := s.Client(), s.Client()
		require.NoError(s, s.Server.Create("/report", []byte("empty")))
		h := s.get(s.contender(a).Acquire)
		guard, token := h.Guard(), h.Token() // what its frozen goroutine has at hand
		s.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		next := s.get(s.contender(b).Rival)
		_, err := next.Session().Txn(s.Ctx, next.Guard(), session.SetOp("/report", []byte("new"), -1))
		require.NoError(s, err)
		s.Server.Heal()
		s.refused(guard, a, b)
		require.Greater(s, next.Token(), token)
		s.release(next)
	})
}

// Somebody deletes the holder's znode.
func deletedHolderIsTold(t *testing.T, tg Target) {
	for _, after := range []time.Duration{0, time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				k := s.next()
				h := s.get(k.Acquire)
				out := s.begin(s.Ctx, s.next().Rival)
				s.Pass(after)
				require.NoError(s, s.Server.Delete(h.Path()))
				began := time.Now()
				s.ended(h)
				require.LessOrEqual(s, time.Since(began), time.Second, "a heartbeat period")
				require.ErrorIs(s, context.Cause(h.Context()), session.ErrNodeDeleted)
				require.ErrorIs(s, h.Release(s.Ctx), session.ErrNodeDeleted)
				require.ErrorIs(s, h.Release(s.Ctx), session.ErrNodeDeleted, "a second time, too")
				s.release(s.granted(out))
				s.release(s.get(k.Acquire))
			})
		})
	}
}

// Somebody deletes the znode right before the release, which is the first to hear of it:
// another client may have been granted it meanwhile.
func releaseTellsTheLoss(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Acquire)
		require.NoError(s, s.Server.Delete(h.Path()))
		err := h.Release(h.Context())
		require.ErrorIs(s, err, session.ErrLost)
		require.ErrorIs(s, err, session.ErrNodeDeleted)
		require.Equal(s, err, h.Release(s.Ctx), "a second call gets the same error")
	})
}

// Connections break again and again, of holders and of waiters: nothing is lost, no
// contender queues up again, and none is granted what is not its turn.
func disconnectIsNoLoss(t *testing.T, tg Target) {
	tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
		h := s.get(s.next().Acquire)
		first, second := s.begin(s.Ctx, s.next().Rival), s.begin(s.Ctx, s.next().Acquire)
		names := s.contenders()
		s.Server.ResetStats()
		for i := range 30 {
			switch i % 3 {
			case 0:
				s.Server.CutAll()
			case 1:
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
		require.Zero(s, s.Server.Stats().Requests["create2"]+s.Server.Stats().Requests["delete"], "no churn of writes")
		s.release(h)
		s.release(s.granted(first))
		s.release(s.granted(second))
	})
}

// The session ends with the answer to the create, or while the client looks for the
// znode whose answer was lost. The znode of the old session, which the servers may show
// for a while, must not be taken for that of the new one.
func oldNodeIsNotTaken(t *testing.T, tg Target) {
	is := func(op string) func(zktest.Request) bool { return func(r zktest.Request) bool { return r.Op == op } }
	search := func(do zktest.Fault) func(s *zktest.Server) {
		return func(s *zktest.Server) {
			s.FailNth(is("create2"), 1, zktest.Action{Do: zktest.DropReplyCut})
			s.FailNth(is("getChildren2"), 2, zktest.Action{Do: do}) // the first went with the create
		}
	}
	for name, faults := range map[string]func(s *zktest.Server){
		"with the answer":          func(s *zktest.Server) { s.FailNth(is("create2"), 1, zktest.Action{Do: zktest.ExpireAfter}) },
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

// The servers cannot talk to each other for a session timeout and more: never two
// holders, and one in the end.
func ensembleWithoutTalk(t *testing.T, tg Target) {
	tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
		s.Pass(time.Second)
		var all []Contender
		for i := 1; i <= 3; i++ {
			all = append(all, s.contender(s.ClientAt(s.Server.ServerAddr(i), session.Options{})))
		}
		h := s.get(all[0].Acquire)
		outs := []<-chan won{s.begin(s.Ctx, all[1].Rival), s.begin(s.Ctx, all[2].Rival)}
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
		out := s.begin(s.Ctx, k.Acquire)
		_, err := k.Acquire(s.Within(time.Second))
		require.ErrorIs(s, err, context.DeadlineExceeded)
		s.pending(out)
		require.NoError(s, s.Server.Restart(1))
		s.release(s.granted(out))
		s.empty()
	})
}

// The end of a client ends what it holds and what waits, and all calls say so.
func closeEndsEverything(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a, b := s.Client(), s.Client()
		k := s.contender(a)
		h := s.get(k.Acquire)
		near := s.begin(s.Ctx, k.Rival)
		far := []<-chan won{s.begin(s.Ctx, s.contender(b).Acquire), s.begin(s.Ctx, s.contender(b).Rival)}
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
				s.ended(h)
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
