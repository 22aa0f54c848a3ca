package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// unanswered lets a party arrive at a barrier of two while its creation is not
// answered for a while. The party is let through meanwhile, and others continue
// for this number of rounds. The result is the party's result.
func unanswered(w *World, rounds int64) passed {
	all, _ := w.barriers(3, 2, nil)
	a := w.await(w.Ctx, all[0])
	w.round(w.await(w.Ctx, all[1]), 1)
	w.round(a, 1)
	mine := func(r zktest.Request) bool { return world.Creates(r.Op) && r.Client == "c1" }
	w.Server.FailNth(mine, 1, zktest.Action{Do: zktest.DropReplyHole})
	out := w.await(w.Ctx, all[0])
	w.round(w.await(w.Ctx, all[1]), 2) // with the party that does not know of its arrival
	for n := int64(3); n <= 1+rounds; n++ {
		b := w.await(w.Ctx, all[1])
		w.round(w.await(w.Ctx, all[2]), n)
		w.round(b, n)
	}
	pending(w, out)
	got := <-out
	w.clean()
	return got
}

// The answer to a creation is lost, and the party is let through before it can
// look: the znode has gone and the number is unknown, but the party must not
// wait for another round.
func TestPartyThatIsLetThroughBeforeItsCreationIsAnsweredPasses_CL5(t *testing.T) {
	for _, rounds := range []int64{1, 2, 10} {
		inWorld(t, nil, func(w *World) {
			got := unanswered(w, rounds)
			require.NoError(w, got.err)
			require.EqualValues(w, 2, got.round)
		})
	}
}

// After too many rounds the outcome cannot be found out, and the error says so.
func TestPartyThatNothingTellsWhetherItPassedSaysSo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.ErrorIs(w, unanswered(w, 60).err, session.ErrUnknownOutcome)
	})
}

// A creation lost before being carried out is repeated.
func TestPartyWhoseCreationWasNeverCarriedOutArrives(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		mine := func(r zktest.Request) bool { return world.Creates(r.Op) && r.Client == "c1" && r.Path != dir }
		w.Server.FailNth(mine, 1, zktest.Action{Do: zktest.CutBefore})
		a := w.await(w.Ctx, all[0])
		w.Pass(time.Minute)
		require.Len(w, w.Children(dir), 1)
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(a, 1)
		w.clean()
	})
}

// A party whose session ends while its creation is in flight finds out in the next
// session whether the znode was created.
func TestPartyThatLosesItsSessionAsItArrivesCountsOnce(t *testing.T) {
	world.Needs(t, world.SaysExpired)
	for _, fault := range []zktest.Fault{zktest.DropRequest, zktest.DropReplyHole} {
		inWorld(t, nil, func(w *World) {
			all, clients := w.barriers(2, 2, nil)
			a := w.await(w.Ctx, all[0])
			w.round(w.await(w.Ctx, all[1]), 1)
			w.round(a, 1)
			mine := func(r zktest.Request) bool { return world.Creates(r.Op) && r.Client == "c1" }
			w.Server.FailNth(mine, 1, zktest.Action{Do: fault})
			out := w.await(w.Ctx, all[0])
			w.Expire(clients[0])
			w.Pass(time.Minute)
			pending(w, out)
			w.round(w.await(w.Ctx, all[1]), 2)
			w.round(out, 2)
			w.clean()
		})
	}
}

// A caller that gives up while its creation is in flight does not know whether
// the party is counted until its znode has gone. If the caller arrives again,
// it counts as the same party.
func TestPartyThatGivesUpAsItArrivesDoesNotKnow(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		_, err := all[0].Await(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.Server.FailNth(func(r zktest.Request) bool { return world.Creates(r.Op) }, 1, zktest.Action{Do: zktest.DropReplyHole})
		_, err = all[0].Await(w.Within(time.Second))
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		again := w.await(w.Ctx, all[0])
		w.Pass(time.Minute)
		pending(w, again)
		require.Len(w, w.Children(dir), 1)
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(again, 1)
	})
}

// All parties lose answers at random; no party is counted twice, and no party
// waits for a round already passed.
func TestLostAnswersInRoundsWithoutEnd(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		const n, rounds = 3, 60
		l := newLockstep(n, rounds)
		all, _ := w.barriers(n, n, nil)
		k := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "ping" || r.Op == "connect" {
				return zktest.Action{}
			}
			if k++; k%7 == 0 {
				return zktest.Action{Do: zktest.DropReplyCut}
			}
			return zktest.Action{}
		})
		require.NoError(w, l.run(func(i int) error { return l.await(w.Ctx, i, all[i]) }))
		world.Pause(time.Minute)
		require.Empty(w, w.Children(dir))
	})
}
