package observing_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Without an observer, nothing is made for events.
func TestEventsCostNothingWithoutAnObserver(t *testing.T) {
	var c *session.Client
	held := observing.Znode{}
	err := errBroken
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		w := observing.BeginWait(ctx, c, observe.Lock, "/l")
		w.Queued("/l/1", 3)
		w.End(err)
		w.Passed(1, 2)
		h := w.Granted(&held, false)
		h.HandedOver()
		h.AwaitLoss()
		h.Ending()
		h.End(nil)
		h = w.NewHold(&held, false)
		h.Begin()
		h.Ending()
		h.Continue(ctx)
		h.Lose(err)
		h.NotEnding()
		observing.BeginHold(ctx, c, observe.Lock, "/l", &held).End(nil)
	}))
}

// observed runs body with a hold of a client, and returns the names of its events and the
// last end.
func observed(t *testing.T, body func(w *world.World, hold *session.Hold, begin func() *observing.Hold)) (names []string, last observe.HoldEnded) {
	t.Helper()
	var mu sync.Mutex
	world.In(t, nil, func(w *world.World) {
		c := w.ClientWith(session.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case observe.HoldBegun:
				names = append(names, e.Name())
			case observe.HoldEnded:
				names, last = append(names, e.Name()), e
			}
		})})
		s := w.Session(c)
		_, err := s.Create(w.Ctx, "/h", nil, session.Ephemeral, nil)
		require.NoError(t, err)
		hold, err := s.Hold(w.Ctx, "/h", nil)
		require.NoError(t, err)
		body(w, hold, func() *observing.Hold {
			return observing.NewHold(w.Ctx, c, observe.Lock, "/h", observing.Znode{Hold: hold, Czxid: 1})
		})
		w.Settle()
		mu.Lock()
		defer mu.Unlock()
	})
	return names, last
}

func TestHoldThatEndsBeforeItsReportEndsAfterIt(t *testing.T) {
	names, last := observed(t, func(w *world.World, _ *session.Hold, begin func() *observing.Hold) {
		h := begin()
		h.Ending()
		h.End(errBroken)
		w.Settle()
		h.Begin()
		h.End(nil)
	})
	require.Equal(t, []string{"hold begun", "hold ended"}, names)
	require.Equal(t, observe.Released, last.End)
	require.ErrorIs(t, last.Err, errBroken)
}

func TestHoldThatContinuesIsLostLater(t *testing.T) {
	for name, attempts := range map[string]int{"once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			names, last := observed(t, func(_ *world.World, hold *session.Hold, begin func() *observing.Hold) {
				h := begin()
				h.Begin()
				for range attempts {
					h.Ending()
				}
				for range attempts {
					h.Continue(hold.Context())
				}
				h.End(nil) // of no call
				hold.End(session.ErrNodeDeleted)
			})
			require.Equal(t, []string{"hold begun", "hold ended"}, names)
			require.Equal(t, observe.Lost, last.End)
			require.ErrorIs(t, last.Err, session.ErrNodeDeleted)
			require.Zero(t, last.TrustLeft, "another client can take what the znode stood for")
		})
	}
}

func TestHoldThatAnotherCallGivesBackDoesNotContinue(t *testing.T) {
	names, last := observed(t, func(_ *world.World, hold *session.Hold, begin func() *observing.Hold) {
		h := begin()
		h.Begin()
		h.Ending()
		h.Ending()
		h.Continue(hold.Context())
		hold.End(session.ErrReleased)
		h.End(nil)
	})
	require.Equal(t, []string{"hold begun", "hold ended"}, names)
	require.Equal(t, observe.Released, last.End)
}

func TestHoldEndsWithTheCallThatHasGivenItBack(t *testing.T) {
	names, last := observed(t, func(_ *world.World, _ *session.Hold, begin func() *observing.Hold) {
		h := begin()
		h.Begin()
		h.Ending()
		h.Ending()
		h.NotEnding()
		h.End(nil)
		h.NotEnding()
	})
	require.Equal(t, []string{"hold begun", "hold ended"}, names)
	require.Equal(t, observe.Released, last.End)
}

func TestHoldWithoutItsOwnReleaseEndsWithItsContext(t *testing.T) {
	names, last := observed(t, func(_ *world.World, hold *session.Hold, begin func() *observing.Hold) {
		begin().Begin()
		hold.End(session.ErrReleased)
	})
	require.Equal(t, []string{"hold begun", "hold ended"}, names)
	require.Equal(t, observe.Released, last.End)
	require.NoError(t, last.Err)
}

var errBroken = errors.New("broken") // read only
