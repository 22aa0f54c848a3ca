package queuetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// calls are the scenarios of the results of acquiring, releasing and running under a
// hold.
func calls() map[string]scenario {
	return map[string]scenario{
		"TokenIsTheCzxidThatClientsCanRead_CH14_CH31": tokenIsTheCzxid,
		"ReleaseWithAnEndedContextGoesOn_P6_CH9_CH36": releaseGoesOn,
		"ReleaseWithTheHoldsOwnContext":               releaseInOwnContext,
		"ReleaseWhileTheServerIsAway_P6_CH1_CH9_PD2":  releaseWithoutServer,
		"TwoReleasesAtOnceAreOne":                     twoReleasesAreOne,
		"EndedContextSendsNothing":                    endedContextSendsNothing,
		"WaiterLeavesNoZnodeWhenItsContextEnds":       waiterLeaves,
		"DoTellsOfLossAndOfTheWork":                   doTellsOfLoss,
		"DoEndsWithItsContextWhateverTheNetworkDoes":  doEndsWithItsContext,
		"DoConfirmsItsReleaseAfterTheEndOfItsContext": doConfirmsItsRelease,
		"DoReleasesWhenTheWorkPanics_CH36":            doReleasesAfterPanic,
		"WorkMayReleaseWithTheContextThatItGot":       workReleases,
	}
}

func tokenIsTheCzxid(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		last := int64(0)
		for range 10 {
			h := s.get(k.Acquire)
			node, err := s.Server.Get(h.Path())
			require.NoError(s, err)
			require.Equal(s, node.Czxid, h.Token())
			require.Equal(s, node.EphemeralOwner, h.Session().ID())
			require.Greater(s, h.Token(), last)
			last = h.Token()
			s.release(h)
		}
	})
}

// A release with a context that has ended does not wait, and does not forget: the
// deletion goes on. A further release reports.
func releaseGoesOn(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		for range 20 {
			h := s.get(k.Acquire)
			ctx, cancel := context.WithCancel(s.Ctx)
			cancel()
			began := time.Now()
			if err := h.Release(ctx); err != nil {
				require.ErrorIs(s, err, context.Canceled)
			}
			require.Zero(s, time.Since(began))
			s.empty()
			require.ErrorIs(s, h.Release(s.Ctx), s.NotHeld)
		}
		s.release(s.get(k.Acquire))
	})
}

// The context that ends with the release does not end the release.
func releaseInOwnContext(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		h := s.get(k.Acquire)
		require.NoError(s, h.Release(h.Context()))
		require.Empty(s, s.contenders(), "the server has confirmed it")
		require.ErrorIs(s, h.Release(h.Context()), s.NotHeld)

		h = s.get(k.Acquire)
		ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
		defer cancel()
		require.NoError(s, h.Release(ctx))
		require.Empty(s, s.contenders())
	})
}

// The server is away at the release.
func releaseWithoutServer(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		h := s.get(k.Acquire)
		out := s.startAcquire(s.Ctx, s.next().Rival)
		require.NoError(s, s.Server.Stop(1))
		began := time.Now()
		require.ErrorIs(s, h.Release(s.Within(2*time.Second)), context.DeadlineExceeded)
		require.Equal(s, 2*time.Second, time.Since(began))
		require.ErrorIs(s, context.Cause(h.Context()), session.ErrReleased)
		require.NoError(s, s.Server.Restart(1))
		s.release(s.granted(out))
		s.Pass(20 * time.Second)
		s.empty()
		require.ErrorIs(s, h.Release(s.Ctx), s.NotHeld)
		s.release(s.get(k.Acquire))
	})
}

func twoReleasesAreOne(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Acquire)
		s.Server.Delay(zktest.Link{}, zktest.Both, 500*time.Millisecond)
		out := make(chan error, 1)
		// Waited for below; ends with the answer.
		go func() { out <- h.Release(s.Ctx) }()
		s.Settle()
		began := time.Now()
		require.ErrorIs(s, h.Release(s.Within(100*time.Millisecond)), context.DeadlineExceeded, "its own context counts")
		require.Equal(s, 100*time.Millisecond, time.Since(began))
		require.ErrorIs(s, h.Release(s.Ctx), s.NotHeld)
		require.NoError(s, <-out)
		s.Server.Heal()
	})
}

func endedContextSendsNothing(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		c := s.Client()
		ctx := s.Within(0)
		<-ctx.Done()
		before := s.Requests(c)
		k := s.contender(c)
		for name, call := range k.calling() {
			require.ErrorIs(s, call(ctx), ctx.Err(), name)
		}
		if k.Do != nil {
			require.ErrorIs(s, k.Do(ctx, nil), ctx.Err(), "the context comes first")
		}
		require.Equal(s, before, s.Requests(c))
	})
}

func waiterLeaves(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		began := time.Now()
		_, err := s.next().Acquire(s.Within(3 * time.Second))
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.ErrorContains(s, err, s.Path)
		require.Equal(s, 3*time.Second, time.Since(began))
		s.Settle()
		require.Len(s, s.contenders(), 1)
		s.release(h)
	})
}

var errWork = errors.New("work failed") // read only

func doTellsOfLoss(t *testing.T, tg Target) {
	tg.running(t, func(s *scene, k Contender) {
		type key struct{}
		ctx := context.WithValue(s.Ctx, key{}, "value")
		require.NoError(s, k.Do(ctx, func(ctx context.Context, h Held) error {
			require.Equal(s, "value", ctx.Value(key{}))
			require.NoError(s, ctx.Err())
			require.NotZero(s, h.Token())
			return nil
		}))
		require.ErrorIs(s, k.Do(s.Ctx, func(context.Context, Held) error { return errWork }), errWork)

		err := k.Do(s.Ctx, func(ctx context.Context, _ Held) error {
			s.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			<-ctx.Done()
			require.ErrorIs(s, context.Cause(ctx), session.ErrLost)
			return errWork
		})
		s.Server.Heal()
		require.ErrorIs(s, err, session.ErrLost)
		require.ErrorIs(s, err, errWork)

		err = k.Do(s.Ctx, func(context.Context, Held) error {
			s.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			s.Pass(time.Minute) // it does not look
			return nil
		})
		s.Server.Heal()
		require.ErrorIs(s, err, session.ErrLost)
		s.release(s.get(k.Acquire))
		s.Pass(time.Minute) // the lost session is expired, too
		s.empty()
	})
}

// running runs body with a contender of client c1, in a bubble.
func (tg Target) running(t *testing.T, body func(s *scene, k Contender)) {
	t.Helper()
	tg.in(t, nil, func(s *scene) { body(s, s.next()) })
}

// The context of Do ends while the server is away: Do ends when the server may have
// expired the session.
func doEndsWithItsContext(t *testing.T, tg Target) {
	tg.running(t, func(s *scene, k Contender) {
		began := time.Now()
		err := k.Do(s.Within(5*time.Second), func(ctx context.Context, _ Held) error {
			require.NoError(s, s.Server.Stop(1))
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.ErrorIs(s, err, session.ErrLost, "no server has confirmed the release")
		require.LessOrEqual(s, time.Since(began), session.DefaultTimeout+time.Second)
		require.NoError(s, s.Server.Restart(1))
		s.release(s.get(k.Acquire))
		s.empty()
	})
}

// The context of Do ends while the server answers slowly: Do waits for the answer.
func doConfirmsItsRelease(t *testing.T, tg Target) {
	tg.running(t, func(s *scene, k Contender) {
		ctx, cancel := context.WithCancel(s.Ctx)
		defer cancel()
		var stopped time.Time
		require.NoError(s, k.Do(ctx, func(context.Context, Held) error {
			s.Server.Delay(zktest.Link{}, zktest.Both, 500*time.Millisecond)
			cancel()
			stopped = time.Now()
			return nil
		}))
		require.Empty(s, s.contenders(), "a server has confirmed the release")
		require.GreaterOrEqual(s, time.Since(stopped), time.Second)
		s.Server.Heal()
	})
}

func doReleasesAfterPanic(t *testing.T, tg Target) {
	tg.running(t, func(s *scene, k Contender) {
		require.Panics(s, func() {
			_ = k.Do(s.Ctx, func(context.Context, Held) error { panic("boom") })
		})
		s.release(s.get(k.Rival))
	})
}

// The function of Do may release by itself, which is not an error.
func workReleases(t *testing.T, tg Target) {
	tg.running(t, func(s *scene, k Contender) {
		require.NoError(s, k.Do(s.Ctx, func(ctx context.Context, h Held) error {
			if err := h.Release(ctx); err != nil {
				return err
			}
			require.Empty(s, s.contenders())
			<-ctx.Done()
			require.ErrorIs(s, context.Cause(ctx), session.ErrReleased)
			return nil
		}))
	})
}
