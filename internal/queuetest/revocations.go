package queuetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Asking turns the methods that list contenders and ask them to give back into a Contender's
// Askers.
func Asking[C any](list func(ctx context.Context) ([]C, error), ask func(ctx context.Context, c C) error) func(context.Context) ([]func(context.Context) error, error) {
	return eachOf(list, func(c C) func(context.Context) error {
		return func(ctx context.Context) error { return ask(ctx, c) }
	})
}

// Listening turns a method of holds of type H into a Contender's AwaitRevocation.
func Listening[H Held](await func(h H, ctx context.Context) error) func(context.Context, Held) error {
	return func(ctx context.Context, h Held) error { return await(h.(H), ctx) }
}

// revocations are the scenarios of a holder that is asked to give back.
func revocations() map[string]scenario {
	return map[string]scenario{
		"HolderIsAskedToGiveBack":                           whereAsked(holderIsAsked),
		"AwaitRevocationEndsWithTheHoldAndWithItsContext":   whereAsked(listeningEnds),
		"HolderLearnsOfTheRequestUnderEveryFault":           whereAsked(listenUnderFaults),
		"RequestReachesTheHolderUnderEveryFaultOfTheAsking": whereAsked(askUnderFaults),
	}
}

// whereAsked is a scenario of the recipes whose holders can be asked.
func whereAsked(f scenario) scenario {
	return func(t *testing.T, tg Target) {
		if tg.New(nil, tg.Path).Askers != nil {
			f(t, tg)
		}
	}
}

// startListening starts to wait for a request, and returns once that waits or has ended.
func (s *scene) startListening(ctx context.Context, k Contender, h Held) <-chan error {
	out := make(chan error, 1)
	// The bubble waits for the goroutine, which ends with the hold at the latest.
	go func() { out <- k.AwaitRevocation(ctx, h) }()
	synctest.Wait()
	return out
}

func holderIsAsked(t *testing.T, tg Target) {
	for i, layout := range tg.layouts() {
		t.Run(fmt.Sprint("layout ", i), func(t *testing.T) { tg.holderIsAsked(t, layout) })
	}
}

func (tg Target) holderIsAsked(t *testing.T, holder func(*session.Client, string) Contender) {
	tg.in(t, nil, func(s *scene) {
		one, two := holder(s.Client(), s.Path), s.next()
		h := s.get(one.Acquire)
		asked := s.startListening(s.Ctx, one, h)
		next := s.startAcquire(s.Ctx, two.Rival)
		asks, err := two.Askers(s.Ctx)
		require.NoError(s, err)
		s.Pass(time.Hour)
		require.Empty(s, asked)
		if world.Has(world.Resumes) {
			s.Server.CutAll() // the watch goes with the connection, and is set again
			s.Pass(time.Second)
			require.Empty(s, asked)
		}

		require.NoError(s, asks[0](s.Ctx))
		s.Settle()
		require.NoError(s, <-asked)
		require.NoError(s, h.Context().Err(), "nothing is taken away")
		s.pending(next)
		require.NoError(s, one.AwaitRevocation(s.Ctx, h), "the request stays")
		s.release(h)
		got := s.granted(next)

		require.ErrorIs(s, asks[0](s.Ctx), tg.Gone)
		require.ErrorIs(s, one.AwaitRevocation(s.Ctx, h), session.ErrReleased)
		s.release(got)
		s.RequireNoWatches()
	})
}

func listeningEnds(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		for what, end := range map[string]func(h Held){
			"released": s.release,
			"lost":     func(h Held) { require.NoError(s, s.Server.ExpireSession(h.Session().ID())) },
			"deleted":  func(h Held) { require.NoError(s, s.Server.Delete(h.Path())) },
		} {
			h := s.get(k.Acquire)
			asked := s.startListening(s.Ctx, k, h)
			end(h)
			err := <-asked
			require.ErrorIs(s, err, context.Cause(h.Context()), what)
			require.ErrorContains(s, err, "lock: await revocation "+s.Path, what)
			if what != "released" {
				require.ErrorIs(s, err, session.ErrLost, what)
				_ = h.Release(s.Ctx) // reports the loss
			}
		}
		// The znode is deleted before the call, and the hold does not know.
		h := s.get(k.Acquire)
		require.NoError(s, s.Server.Delete(h.Path()))
		require.ErrorIs(s, k.AwaitRevocation(s.Ctx, h), session.ErrLost)
		_ = h.Release(s.Ctx) // reports the loss

		h = s.get(k.Acquire)
		short, cancel := context.WithTimeout(s.Ctx, time.Second)
		defer cancel()
		require.ErrorIs(s, k.AwaitRevocation(short, h), context.DeadlineExceeded)
		require.NoError(s, h.Context().Err())
		s.release(h)
		s.RequireNoWatches()
	})
}

// The holder learns of the request whatever is lost, as long as it holds.
func listenUnderFaults(t *testing.T, tg Target) {
	t.Parallel()
	tg.trial("await a revocation", func(ctx context.Context, p *world.Party) error {
		k := tg.contender(p.Tested)
		h, err := k.Acquire(ctx)
		if err != nil {
			return err
		}
		asked := make(chan error, 1)
		// Waited for below; ends with the hold.
		go func() { asked <- k.AwaitRevocation(ctx, h) }()
		world.Pause(time.Second)
		asks, err := tg.contender(p.Other).Askers(context.Background())
		if err != nil {
			return err
		}
		for _, ask := range asks { // a former session of the client may hold beside, for a moment
			if err := ask(context.Background()); err != nil && !errors.Is(err, tg.Gone) {
				return fmt.Errorf("ask: %w", err)
			}
		}
		if err := <-asked; err != nil && h.Context().Err() == nil && ctx.Err() == nil {
			return fmt.Errorf("held, and not told: %w", err)
		}
		return h.Release(ctx)
	}).Run(t)
}

func askUnderFaults(t *testing.T, tg Target) {
	t.Parallel()
	var h Held
	tr := tg.trial("ask", func(ctx context.Context, p *world.Party) error {
		defer func() { _ = h.Release(context.Background()) }()
		asks, err := tg.contender(p.Tested).Askers(ctx)
		if err != nil {
			return err
		}
		if err := asks[0](ctx); err != nil {
			return err
		}
		asked, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return tg.contender(p.Other).AwaitRevocation(asked, h)
	})
	tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
		h, err = tg.contender(p.Other).Acquire(context.Background())
		return err
	}
	tr.Run(t)
}
