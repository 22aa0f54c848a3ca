package queuetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Break is the record of a hold that was taken away.
type Break struct {
	Session    int64
	By, Reason string
}

// BreakHold takes a hold away.
type BreakHold func(ctx context.Context, by, reason string) error

// Breaking turns the methods that list contenders and take their holds away into a
// Contender's Breakers.
func Breaking[C any](list func(ctx context.Context) ([]C, error), take func(ctx context.Context, c C, by, reason string) error) func(context.Context) ([]BreakHold, error) {
	return eachOf(list, func(c C) BreakHold {
		return func(ctx context.Context, by, reason string) error { return take(ctx, c, by, reason) }
	})
}

// eachOf makes a list of what f makes of each element of another one.
func eachOf[C, T any](list func(ctx context.Context) ([]C, error), f func(C) T) func(context.Context) ([]T, error) {
	return func(ctx context.Context) ([]T, error) {
		all, err := list(ctx)
		out := make([]T, len(all))
		for i, c := range all {
			out[i] = f(c)
		}
		return out, err
	}
}

// Records turns a method that lists records of type R into a Contender's Breaks.
func Records[R any](list func(ctx context.Context) ([]R, error), read func(R) Break) func(context.Context) ([]Break, error) {
	return eachOf(list, read)
}

// Finding turns a method of holds of type H that finds a record into a Contender's FindBreak.
func Finding[H Held, R any](find func(h H, ctx context.Context) (R, bool, error), read func(R) Break) func(context.Context, Held) (Break, bool, error) {
	return func(ctx context.Context, h Held) (Break, bool, error) {
		r, ok, err := find(h.(H), ctx)
		return read(r), ok, err
	}
}

// breaks are the scenarios of a hold that is taken away.
func breaks() map[string]scenario {
	return map[string]scenario{
		"HoldIsTakenAwayAndTheNextIsGranted":          holdIsTakenAway,
		"HoldIsBrokenOnce":                            holdIsBrokenOnce,
		"BreakUnderEveryFault":                        breakUnderFaults,
		"RecordOfABreakIsFoundUnderEveryFault":        findBreakUnderFaults,
		"HolderThatGoesWhileItIsBrokenIsNotConfused":  holderGoesMeanwhile,
		"ReleaseMayBeTheFirstRequestToLearnOfABreak":  releaseLearnsOfBreak,
		"BreakChangesNothingIfTheRecordIsNotPossible": breakWithoutPermission,
	}
}

// breakers are the calls that take the listed holds away.
func (s *scene) breakers(k Contender) []BreakHold {
	s.Helper()
	all, err := k.Breakers(s.Ctx)
	require.NoError(s, err)
	require.NotEmpty(s, all)
	return all
}

// broken is the record of h.
func (s *scene) broken(k Contender, h Held) (b Break, ok bool) {
	s.Helper()
	b, ok, err := k.FindBreak(s.Ctx, h)
	require.NoError(s, err)
	return b, ok
}

func holdIsTakenAway(t *testing.T, tg Target) {
	for i, layout := range tg.layouts() {
		t.Run(fmt.Sprint("layout ", i), func(t *testing.T) { tg.holdIsTakenAway(t, layout) })
	}
}

func (tg Target) holdIsTakenAway(t *testing.T, holder func(*session.Client, string) Contender) {
	tg.in(t, nil, func(s *scene) {
		one, two := holder(s.Client(), s.Path), s.next()
		h := s.get(one.Acquire)
		next := s.startAcquire(s.Ctx, two.Rival)
		all := s.breakers(s.next())
		for _, waits := range all[1:] {
			require.ErrorIs(s, waits(s.Ctx, "", "wrong"), session.ErrInvalidArgument, "it waits")
		}
		require.ErrorIs(s, all[0](s.Ctx, "alice", ""), session.ErrInvalidArgument, "without a reason")
		_, ok := s.broken(one, h)
		require.False(s, ok)
		s.pending(next)
		require.NoError(s, h.Context().Err())

		require.NoError(s, all[0](s.Ctx, "alice", "it hangs"))
		got := s.granted(next)
		s.awaitEnd(h)
		require.ErrorIs(s, context.Cause(h.Context()), session.ErrNodeDeleted)
		want := Break{Session: h.Session().ID(), By: "alice", Reason: "it hangs"}
		b, ok := s.broken(one, h)
		require.True(s, ok)
		require.Equal(s, want, b)
		require.ErrorIs(s, h.Release(s.Ctx), session.ErrLost)
		b, ok = s.broken(one, h)
		require.True(s, ok, "also after the release")
		require.Equal(s, want, b)
		records, err := two.Breaks(s.Ctx)
		require.NoError(s, err)
		require.Equal(s, []Break{want}, records)

		require.ErrorIs(s, all[0](s.Ctx, "", "again"), tg.Gone)
		require.NoError(s, got.Context().Err())
		s.release(got)
		_, ok = s.broken(two, got)
		require.False(s, ok, "released")
		s.empty()
	})
}

// Of several clients that break the same hold, one does; and a holder that has come since is
// not touched.
func holdIsBrokenOnce(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Acquire)
		const operators = 8
		results := make(chan error, operators)
		var takes [operators]BreakHold
		for i := range takes {
			takes[i] = s.breakers(s.next())[0]
		}
		for _, take := range takes {
			// Waited for below; ends with the break.
			go func() { results <- take(s.Ctx, "", "it hangs") }()
		}
		done := 0
		for range operators {
			if err := <-results; err == nil {
				done++
			} else {
				require.ErrorIs(s, err, tg.Gone)
			}
		}
		require.Equal(s, 1, done)
		_ = h.Release(s.Ctx) // reports the loss
		next := s.get(s.next().Acquire)
		require.ErrorIs(s, takes[0](s.Ctx, "", "late"), tg.Gone)
		s.Pass(time.Minute)
		require.NoError(s, next.Context().Err())
		s.release(next)
	})
}

// Whatever is lost, the hold is broken with its record, or neither; and the next contender
// is granted.
func breakUnderFaults(t *testing.T, tg Target) {
	t.Parallel()
	var h Held
	tr := tg.trial("break", func(ctx context.Context, p *world.Party) error {
		all, err := tg.contender(p.Tested).Breakers(ctx)
		if err == nil {
			err = all[0](ctx, "op", "it hangs")
		}
		world.Pause(h.Session().Heartbeat() + 2*time.Second)
		lost := h.Context().Err() != nil
		_, ok, readErr := tg.contender(p.Other).FindBreak(context.Background(), h)
		switch {
		case readErr != nil:
			return fmt.Errorf("find the record: %w", readErr)
		case lost != ok:
			return fmt.Errorf("lost: %v, with a record: %v", lost, ok)
		case err == nil && !lost:
			return errors.New("done, and still held")
		case err != nil && lost && !errors.Is(err, session.ErrUnknownOutcome):
			return fmt.Errorf("broken, and the error does not say that it is possible: %w", err)
		}
		_ = h.Release(context.Background()) // may report the loss
		return err
	})
	tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
		h, err = tg.contender(p.Other).Acquire(context.Background())
		return err
	}
	tr.Run(t)
}

// The record is found whatever becomes of its read.
func findBreakUnderFaults(t *testing.T, tg Target) {
	t.Parallel()
	tr := tg.trial("find the record", func(ctx context.Context, p *world.Party) error {
		k := tg.contender(p.Tested)
		h, err := k.Acquire(ctx)
		if err != nil {
			return err
		}
		all, err := tg.contender(p.Other).Breakers(context.Background())
		if err == nil && len(all) > 0 {
			// The last: a former session of the client may hold beside, for a moment.
			err = all[len(all)-1](context.Background(), "op", "it hangs")
		}
		if err != nil && !errors.Is(err, tg.Gone) {
			return fmt.Errorf("break: %w", err)
		}
		broken := err == nil && len(all) > 0
		<-h.Context().Done()
		_, ok, err := k.FindBreak(ctx, h)
		_ = h.Release(ctx) // reports the loss
		if err == nil && ok != broken {
			return fmt.Errorf("broken: %v, and said: %v", broken, ok)
		}
		return err
	})
	tr.Excuses = []error{session.ErrLost}
	tr.Run(t)
}

// The session of the holder expires after the list, and the next contender holds: it is not
// touched.
func holderGoesMeanwhile(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a := s.Client()
		h := s.get(s.contender(a).Acquire)
		next := s.startAcquire(s.Ctx, s.next().Rival)
		take := s.breakers(s.next())[0]
		require.NoError(s, s.Server.ExpireSession(h.Session().ID()))
		got := s.granted(next)
		require.ErrorIs(s, take(s.Ctx, "op", "r"), tg.Gone)
		s.Pass(time.Minute)
		require.NoError(s, got.Context().Err())
		s.release(got)
		_ = h.Release(s.Ctx) // reports the loss
	})
}

func releaseLearnsOfBreak(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		h := s.get(k.Acquire)
		require.NoError(s, s.breakers(s.next())[0](s.Ctx, "op", "r"))
		require.ErrorIs(s, h.Release(s.Ctx), session.ErrLost)
		_, ok := s.broken(k, h)
		require.True(s, ok)
	})
}

// A client that may not write the record changes nothing.
func breakWithoutPermission(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k, c := s.next(), s.Client()
		h := s.get(k.Acquire)
		folder := s.Path + ".breaks"
		_, err := s.Session(c).Create(s.Ctx, folder, nil, session.Container, &session.CreateOptions{ACL: session.WorldACL(session.PermRead | session.PermAdmin)})
		require.NoError(s, err)
		take := s.breakers(s.contender(c))[0]
		require.ErrorIs(s, take(s.Ctx, "op", "r"), session.ErrNoAuth)
		s.Pass(time.Minute)
		require.NoError(s, h.Context().Err(), "neither the deletion nor the record")
		_, err = s.Session(c).SetACL(s.Ctx, folder, session.WorldACL(session.PermAll), -1)
		require.NoError(s, err)
		require.NoError(s, take(s.Ctx, "op", "r"))
		s.awaitEnd(h)
		_, ok := s.broken(k, h)
		require.True(s, ok)
		_ = h.Release(s.Ctx) // reports the loss
	})
}
