package queuetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// leftovers are the scenarios of znodes and watches that failed or abandoned calls leave
// behind.
func leftovers() map[string]scenario {
	return map[string]scenario{
		"CreateThatIsProposedButNotCommittedIsFound_P1_CH3_PD3_PD4":     createIsProposed,
		"CallerThatGivesUpDuringTheCreateLeavesNothing_CH4_CH5_CH22_P1": callerGivesUp,
		"ClientClosedDuringTheCreateLeavesNothing_CH22_CH54":            closedDuringCreate,
		"DeleteThatFailsGoesOn_P14_CH1_CH36":                            deleteGoesOn,
		"TriesLeaveNothing_P14_P15":                                     triesLeaveNothing,
		"WaitersThatGiveUpLeaveNoWatch_CH10":                            waitersLeaveNoWatch,
		"OverlappingCallsLeaveNothing_CH23":                             overlappingCalls,
		"LostHolderDoesNotBlockItself":                                  lostHolderIsFree,
		"LostWaiterDoesNotBlockItself":                                  lostWaiterIsFree,
		"LostTryDoesNotBlockItself":                                     lostTryIsFree,
	}
}

// creates matches the creation of a contender's znode.
func creates(r zktest.Request) bool { return world.Creates(r.Op) }

// A leader that is slow to commit answers a sync of its own clients at once. A client that
// looks for a lost create must not conclude from the reply that the znode was never
// created: the first znode would stay in the queue, and block it.
func createIsProposed(t *testing.T, tg Target) {
	tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
		s.Pass(time.Second)
		leader := s.Server.Leader()
		c := s.ClientAt(s.Server.ServerAddr(leader), session.Options{})
		k := s.contender(c)
		s.release(s.get(k.Acquire))
		s.Settle()

		// Messages of the followers to the leader come late.
		for i := 1; i <= 3; i++ {
			if i != leader {
				s.Server.CutPeers(i, leader, zktest.ToServer)
			}
		}
		s.Server.FailNth(creates, 1, zktest.Action{Do: zktest.CutAfter})
		out := s.startAcquire(s.Within(time.Minute), k.Acquire)
		s.Pass(100 * time.Millisecond)
		s.Server.Cut(s.ID(c))
		s.Pass(500 * time.Millisecond) // it has come back to the leader
		s.pending(out)
		s.Server.HealPeers()
		s.Pass(5 * time.Second)
		require.Len(s, s.contenders(), 1)
		s.release(s.granted(out))
		require.Empty(s, s.contenders())
		s.release(s.get(s.next().Rival))
	})
}

// A caller that gives up with the create in progress leaves nothing, and the next in the
// queue is granted.
func callerGivesUp(t *testing.T, tg Target) {
	for name, action := range map[string]zktest.Action{
		"answer late": {Do: zktest.DelayReply, For: 3 * time.Second}, "answer lost": {Do: zktest.DropReplyHole},
		"request lost": {Do: zktest.DropRequest},
	} {
		t.Run(name, func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				k := s.next()
				s.release(s.get(k.Acquire))
				for call, enter := range k.entering() {
					s.Server.FailNth(creates, 1, action)
					began := time.Now()
					_ = enter(s.Within(100 * time.Millisecond)) // its error is its own
					require.Equal(s, 100*time.Millisecond, time.Since(began), "ctx bounds %s", call)
					s.Pass(20 * time.Second)
					require.Empty(s, s.contenders(), call)
				}
				s.release(s.get(s.next().Rival))
			})
		})
	}
}

// A client is closed while a create is in flight.
func closedDuringCreate(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		c := s.Client()
		k := s.contender(c)
		s.release(s.get(k.Acquire))
		s.Server.FailNth(creates, 1, zktest.Action{Do: zktest.DelayReply, For: 3 * time.Second})
		out := s.startAcquire(s.Ctx, k.Acquire)
		s.Pass(time.Second)
		s.pending(out)
		require.NoError(s, c.Close(s.Within(time.Minute)))
		require.ErrorIs(s, s.outcome(out).err, session.ErrClosed)
		s.Pass(time.Minute)
		require.Empty(s, s.contenders())
	})
}

// The delete of a release meets a broken link: it goes on until the znode is gone, while
// the session lives.
func deleteGoesOn(t *testing.T, tg Target) {
	for name, do := range map[string]zktest.Fault{
		"cut before": zktest.CutBefore, "reply lost": zktest.DropReplyCut,
		"request dropped": zktest.DropRequest, "reply dropped": zktest.DropReplyHole,
	} {
		t.Run(name, func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				c := s.Client()
				k := s.contender(c)
				h := s.get(k.Acquire)
				id := s.ID(c)
				for range 3 {
					s.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: do})
				}
				_ = h.Release(s.Within(time.Millisecond)) // says that the deletion goes on
				s.Pass(2 * time.Minute)
				require.Empty(s, s.contenders())
				err := h.Release(s.Ctx)
				if world.Has(world.Resumes) {
					require.Equal(s, id, s.ID(c), "the session lives")
					require.ErrorIs(s, err, s.NotHeld)
				} else {
					require.True(s, errors.Is(err, session.ErrLost) || errors.Is(err, s.NotHeld), "%v", err)
				}
				s.release(s.get(k.Acquire))
			})
		})
	}
}

// Nothing stays of many tries that fail under bad links.
func triesLeaveNothing(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		b := s.Client()
		for i := range 200 {
			if i%10 == 0 {
				s.Server.CutLink(zktest.Link{Client: "c2"})
			}
			_, err := s.contender(b).Try(s.Ctx)
			require.ErrorIs(s, err, s.Busy)
		}
		s.Pass(10 * time.Second)
		require.Len(s, s.contenders(), 1)
		s.release(h)
	})
}

// A waiter that gives up takes its watches along.
func waitersLeaveNoWatch(t *testing.T, tg Target) {
	world.Needs(t, world.RemovesWatches)
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		s.Pass(2 * time.Second)
		base := s.Server.Stats().Watches
		k := s.next()
		for i := range 100 {
			_, err := k.Acquire(s.Within(time.Duration(1+i*20) * time.Millisecond))
			require.Error(s, err)
		}
		s.Pass(time.Second)
		require.Equal(s, base, s.Server.Stats().Watches, "%v", s.Server.Watches())
		s.release(h)
	})
}

// Many calls of one contender that start and stop over one another each have one znode at
// most, and none in the end.
func overlappingCalls(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		var all sync.WaitGroup
		for i := range 40 {
			// Waited for below; ends with its context.
			all.Go(func() {
				ctx, cancel := context.WithTimeout(s.Ctx, time.Duration(i%7)*time.Millisecond)
				defer cancel()
				if h, err := k.Acquire(ctx); err == nil {
					if err := h.Release(s.Ctx); err != nil {
						s.Error(err)
					}
				}
			})
		}
		all.Wait()
		s.empty()
		h := s.get(k.Acquire)
		require.Len(s, s.contenders(), 1)
		s.release(h)
	})
}

// A holder that lost its session in an outage is not kept out by its own former znode.
func lostHolderIsFree(t *testing.T, tg Target) {
	for name, o := range tg.orders() {
		t.Run(name, func(t *testing.T) {
			call := o.former
			world.LostHolderDoesNotBlockItself(t, func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
				h, err := call(tg.contender(c))(ctx)
				if err != nil {
					return world.ExclusiveHold{}, err
				}
				call = o.latter
				return world.ExclusiveHold{Held: h.Context(), GiveBack: h.Release}, nil
			})
		})
	}
}

// A client that tries, and whose creation was not answered, loses its session, because the
// session holds something else. The former place does not refuse the next attempt.
func lostTryIsFree(t *testing.T, tg Target) {
	if tg.New(nil, tg.Path).Try == nil {
		return
	}
	tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
		s.release(s.get(s.next().Rival)) // the folder exists
		c := s.Client()
		own := s.Session(c)
		_, err := own.Create(s.Ctx, "/other", nil, session.Ephemeral, nil)
		require.NoError(s, err)
		other, err := own.Hold(s.Ctx, "/other", nil)
		require.NoError(s, err)
		s.Server.FailNth(func(r zktest.Request) bool { return creates(r) && r.Session == own.ID() }, 1, zktest.Action{Do: zktest.DropReplyHole})
		out := s.startAcquire(s.Ctx, s.contender(c).Try)
		s.Away(other.Context())
		s.release(s.granted(out))
		s.empty()
	})
}

// A client that waits, or whose creation was not answered, loses its session in an
// outage, because the session holds something else. The former place does not keep the
// client out in the next session.
func lostWaiterIsFree(t *testing.T, tg Target) {
	for name, unanswered := range map[string]bool{"waits": false, "reply of the creation lost": true} {
		t.Run(name, func(t *testing.T) {
			tg.in(t, &zktest.Options{Servers: 3}, func(s *scene) {
				c := s.Client()
				own := s.Session(c)
				_, err := own.Create(s.Ctx, "/other", nil, session.Ephemeral, nil)
				require.NoError(s, err)
				other, err := own.Hold(s.Ctx, "/other", nil)
				require.NoError(s, err)
				h := s.get(s.next().Rival)
				if unanswered {
					s.Server.FailNth(func(r zktest.Request) bool { return creates(r) && r.Session == own.ID() }, 1, zktest.Action{Do: zktest.DropReplyHole})
				}
				out := s.startAcquire(s.Ctx, s.contender(c).Acquire)
				s.Away(other.Context())
				s.awaitEnd(h)
				require.ErrorIs(s, h.Release(s.Ctx), session.ErrLost)
				back := time.Now()
				next := s.granted(out)
				require.Less(s, time.Since(back), 5*time.Second, "the timeout of the former sessions is 10 s")
				s.release(next)
			})
		})
	}
}
