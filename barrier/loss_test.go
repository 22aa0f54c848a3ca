package barrier_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CL6: a party that gave up has no znode when the call returns, and does not
// let a newcomer through.
func TestPartyLeavesNoZnodeWhenItsContextEnds_CL6(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		_, err := all[0].Await(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		require.Empty(w, w.Children(dir))
		late := w.await(w.Ctx, all[1])
		w.Pass(time.Minute)
		pending(w, late)
		w.round(w.await(w.Ctx, all[0]), 1)
		w.round(late, 1)
		w.clean()
	})
}

func TestPartyThatGivesUpWithoutAServerSaysThatItDoesNotKnow(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		out := w.await(w.Within(time.Second), all[0])
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		got := <-out
		require.ErrorIs(w, got.err, session.ErrUnknownOutcome)
		require.ErrorIs(w, got.err, context.DeadlineExceeded)
		// Its znode still exists: the other party passes with it.
		w.round(w.await(w.Ctx, all[1]), 1)
		w.Server.Heal()
		w.Pass(time.Minute)
		w.clean()
	})
}

// The znode has gone because the party was let through at the same moment.
func TestPartyThatIsLetThroughAsItGivesUpHasPassed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		out := w.await(ctx, all[0])
		// The event of the round is still on its way when the context ends.
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToClient, 100*time.Millisecond)
		w.round(w.await(w.Ctx, all[1]), 1)
		cancel()
		w.round(out, 1)
		w.Server.Heal()
		w.clean()
	})
}

// W9: a party that loses its session while waiting arrives again, and counts
// once.
func TestPartyWhoseSessionIsLostComesAgainAndCountsOnce_W9(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.barriers(3, 3, nil)
		a := w.await(w.Ctx, all[0])
		for range 5 {
			w.Expire(clients[0])
			w.Pass(time.Minute)
			require.Len(w, w.Children(dir), 1)
		}
		b := w.await(w.Ctx, all[1])
		pending(w, b)
		w.round(w.await(w.Ctx, all[2]), 1)
		w.round(a, 1)
		w.round(b, 1)
		w.clean()
	})
}

// A session lost before the arrival has no effect: the party arrives in the
// next session.
func TestPartyWhoseSessionIsLostBeforeItArrivesArrivesInTheNext(t *testing.T) {
	for name, op := range map[string]string{"as it looks": "getData", "as it makes the path": "create"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				expire := func() {
					first := func(r zktest.Request) bool {
						return (r.Op == op || world.Creates(r.Op) && world.Creates(op)) && r.Path == dir
					}
					w.Server.FailNth(first, 1, zktest.Action{Do: zktest.ExpireBefore})
				}
				all, _ := w.barriers(2, 2, nil)
				expire()
				a := w.await(w.Ctx, all[0])
				w.round(w.await(w.Ctx, all[1]), 1)
				w.round(a, 1)
				require.NoError(w, w.Server.DeleteAll("/barriers"))
				double, _ := w.doubles(2, 2, nil)
				expire()
				in := w.enter(w.Ctx, double[0])
				w.seats(1, in, w.enter(w.Ctx, double[1]))
			})
		})
	}
}

// CL8: all die inside; a newcomer alone must not pass.
func TestLeftoversOfDeadPartiesLetNoPartyPass_CL8(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(3, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		w.Expire(clients[0])
		w.Expire(clients[1])
		w.Settle()
		for _, s := range seats {
			<-s.Context().Done()
			require.ErrorIs(w, context.Cause(s.Context()), session.ErrLost)
			require.ErrorIs(w, s.Leave(w.Ctx), session.ErrLost)
			require.ErrorIs(w, s.Leave(w.Ctx), session.ErrLost, "the second call says so, too")
		}
		_, err := all[2].Enter(w.Within(time.Minute))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.seats(2, w.enter(w.Ctx, all[2]), w.enter(w.Ctx, all[0]))
	})
}

func TestOthersLeaveWithoutTheDead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(3, 3, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]), w.enter(w.Ctx, all[2]))
		a, b := w.leave(w.Ctx, seats[0]), w.leave(w.Ctx, seats[1])
		pending(w, a)
		w.Expire(clients[2])
		w.left(a, b)
		require.ErrorIs(w, seats[2].Leave(w.Ctx), session.ErrLost)
		w.clean()
	})
}

// A party waiting for the others to leave continues after a loss of its
// session.
func TestLeaveGoesOnInTheNextSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(2, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		a := w.leave(w.Ctx, seats[0])
		w.Expire(clients[0])
		w.Pass(time.Minute)
		pending(w, a)
		w.left(w.leave(w.Ctx, seats[1]), a)
		w.clean()
	})
}

func TestLeaveThatGivesUpHasLeft(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.doubles(2, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		require.ErrorIs(w, seats[0].Leave(w.Within(time.Second)), context.DeadlineExceeded)
		require.ErrorIs(w, seats[0].Leave(w.Ctx), barrier.ErrNotInside)
		require.ErrorIs(w, context.Cause(seats[0].Context()), session.ErrReleased)
		// The party arrives again, and waits for the party still inside.
		again := w.enter(w.Ctx, all[0])
		pending(w, again)
		w.left(w.leave(w.Ctx, seats[1]))
		w.seats(2, again, w.enter(w.Ctx, all[1]))
	})
}

// A party whose connection is gone gives up, and arrives again before its znode
// has gone: the same party is not counted as a party too many.
func TestPartyThatComesAgainBesideItsRemainsIsNotOneTooMany(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.doubles(3, 3, nil)
		outs := []<-chan seated{w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1])}
		gone := w.enter(w.Within(time.Second), all[2])
		seats := w.seats(1, outs...)
		seats = append(seats, w.seats(1, gone)...)
		w.Server.BlackHole(zktest.Link{Client: "c3"}, zktest.Both)
		require.ErrorIs(w, seats[2].Leave(w.Within(time.Second)), context.DeadlineExceeded)
		again := w.enter(w.Ctx, all[2])
		w.Server.Heal()
		w.Pass(time.Minute)
		pending(w, again)
		a := w.leave(w.Ctx, seats[0])
		w.left(w.leave(w.Ctx, seats[1]), a)
		w.seats(2, again, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
	})
}

// A restarted process keeps its ID: the znode of the former process does not
// count any more, and does not make the party one too many.
func TestRestartedPartyCountsOnce_W9(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		me, you := &barrier.Options{ID: "me"}, &barrier.Options{ID: "you"}
		old := w.await(w.Ctx, barrier.New(w.Client(), dir, 2, me))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) // the process hangs
		now := w.await(w.Ctx, barrier.New(w.Client(), dir, 2, me))
		pending(w, now)
		require.Len(w, w.Children(dir), 2)
		w.round(w.await(w.Ctx, barrier.New(w.Client(), dir, 2, you)), 1)
		w.round(now, 1)
		w.clean()
		w.Server.Heal()
		w.Pass(time.Minute)
		pending(w, old)
		require.Len(w, w.Children(dir), 1, "the party runs and arrives again")
		w.round(w.await(w.Ctx, barrier.New(w.Client(), dir, 2, you)), 2)
		w.round(old, 2)
	})
}

// An administrator deletes the znode of a party, or everything.
func TestPartyWhoseZnodeIsDeletedComesAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		a := w.await(w.Ctx, all[0])
		w.Pass(time.Minute) // the party watches its own znode by now
		old := w.Children(dir)
		require.NoError(w, w.Server.Delete(dir+"/"+old[0]))
		w.Settle()
		require.Len(w, w.Children(dir), 1)
		require.NotEqual(w, old, w.Children(dir))
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(a, 1)
		w.clean()
	})
}

func TestPartiesWhosePathIsDeletedComeAgain(t *testing.T) {
	for name, broken := range map[string]bool{"watching": false, "without a connection": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				all, _ := w.doubles(3, 3, nil)
				a, b := w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1])
				if broken {
					w.Server.CutAll()
				}
				require.NoError(w, w.Server.DeleteAll(dir))
				w.Pass(time.Minute)
				w.seats(1, a, b, w.enter(w.Ctx, all[2]))
			})
		})
	}
}

// A Barrier that watched all the time knows that no party passed; otherwise the
// outcome is unknown.
func TestDeletedPathOfABarrierIsTold(t *testing.T) {
	for name, broken := range map[string]bool{"watching": false, "without a connection": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				all, _ := w.barriers(2, 2, nil)
				a := w.await(w.Ctx, all[0])
				if broken {
					w.Server.CutAll()
				}
				require.NoError(w, w.Server.DeleteAll(dir))
				w.Settle()
				if broken {
					require.ErrorIs(w, (<-a).err, session.ErrUnknownOutcome)
					return
				}
				w.round(w.await(w.Ctx, all[1]), 1)
				w.round(a, 1)
			})
		})
	}
}

// CH11: the server stops while parties wait and look again.
func TestServerThatRestartsHoldsNoPartyUp_CH11(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(3, 3, nil)
		for n := int64(1); n <= 10; n++ {
			a, b := w.await(w.Ctx, all[0]), w.await(w.Ctx, all[1])
			require.NoError(w, w.Server.Stop(1))
			world.Pause(time.Duration(n) * 500 * time.Millisecond)
			require.NoError(w, w.Server.Restart(1))
			w.round(w.await(w.Ctx, all[2]), n)
			w.round(a, n)
			w.round(b, n)
		}
	})
}

// CH38: unrelated events let no party through.
func TestSpuriousEventsLetNoPartyThrough_CH38(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		a := w.await(w.Ctx, all[0])
		for range 10 {
			data, err := w.Server.Get(dir)
			require.NoError(w, err)
			require.NoError(w, w.Server.Set(dir, data.Data))
			w.Server.CutAll()
			require.NoError(w, w.Server.Create(dir+"/config", nil))
			w.Settle()
			require.NoError(w, w.Server.Delete(dir+"/config"))
			pending(w, a)
		}
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(a, 1)
	})
}

func TestSequenceThatIsUsedUpIsAnError(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		require.NoError(w, w.Server.Create("/barriers", nil))
		require.NoError(w, w.Server.Create(dir, nil))
		require.NoError(w, w.Server.SetSequence(dir, 1<<31-3))
		a := w.await(w.Ctx, all[0])
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(a, 1)
		_, err := all[0].Await(w.Ctx)
		require.ErrorIs(w, err, session.ErrSequenceExhausted)
		require.True(w, strings.Contains(err.Error(), dir))
		w.clean()
	})
}

// A caller that gives up without a connection learns the outcome, within the
// allowed second.
func TestPartyThatGivesUpOverALostConnectionIsNotInDoubt(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut} {
		inWorld(t, nil, func(w *World) {
			all, _ := w.barriers(2, 2, nil)
			ctx, cancel := context.WithCancel(w.Ctx)
			out := w.await(ctx, all[0])
			w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: fault})
			cancel()
			got := <-out
			require.ErrorIs(w, got.err, context.Canceled)
			require.NotErrorIs(w, got.err, session.ErrUnknownOutcome)
			w.clean()
		})
	}
}
