package queuetest

import (
	"context"
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
					out := s.startAcquire(s.Ctx, o.latter(s.contender(b)))
					cut := time.Now()
					s.Server.BlackHole(zktest.Link{Client: "c1"}, lost)
					s.awaitEnd(h)
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
		s.awaitEnd(h)
		other := s.get(s.next().Rival)
		if k.Try != nil {
			_, err := k.Try(s.Ctx)
			require.ErrorIs(s, err, s.Busy)
		}
		out := s.startAcquire(s.Ctx, k.Acquire)
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
				out := s.startAcquire(s.Ctx, s.contender(b).Acquire)
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
		s.startAcquire(middle, s.next().Acquire)
		last := s.startAcquire(s.Ctx, s.next().Rival)
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
		s.RequireNoWatches()
	})
}

// A holder whose process was frozen does not know that it has lost. Its writes in flight
// are refused by guard and token, whatever session carries them.
func frozenHolderIsRefused(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a, b := s.Client(), s.Client()
		require.NoError(s, s.Server.Create("/report", []byte("empty")))
		h := s.get(s.contender(a).Acquire)
		guard, token := h.Guard(), h.Token() // the frozen goroutine has these at hand
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

// Another client deletes the holder's znode.
func deletedHolderIsTold(t *testing.T, tg Target) {
	for _, after := range []time.Duration{0, time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				k := s.next()
				h := s.get(k.Acquire)
				out := s.startAcquire(s.Ctx, s.next().Rival)
				s.Pass(after)
				require.NoError(s, s.Server.Delete(h.Path()))
				began := time.Now()
				s.awaitEnd(h)
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

// Another client deletes the znode right before the release. The release is the first
// call to hear of the deletion, and the lock may have been granted to another client
// meanwhile.
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
