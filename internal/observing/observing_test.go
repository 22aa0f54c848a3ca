package observing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
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
	return observedWith(t, session.Options{}, func(w *world.World, _ *session.Client, hold *session.Hold, begin func() *observing.Hold) {
		body(w, hold, begin)
	})
}

// observedWith is observed with options of the client.
func observedWith(t *testing.T, o session.Options, body func(w *world.World, c *session.Client, hold *session.Hold, begin func() *observing.Hold)) (names []string, last observe.HoldEnded) {
	t.Helper()
	var mu sync.Mutex
	world.In(t, nil, func(w *world.World) {
		o.Observer = observe.Func(func(_ context.Context, e observe.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case observe.HoldBegun:
				names = append(names, e.Name())
			case observe.HoldEnded:
				names, last = append(names, e.Name()), e
			}
		})
		c := w.ClientWith(o)
		s := w.Session(c)
		_, err := s.Create(w.Ctx, "/h", nil, session.Ephemeral, nil)
		require.NoError(t, err)
		hold, err := s.Hold(w.Ctx, "/h", nil)
		require.NoError(t, err)
		body(w, c, hold, func() *observing.Hold {
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
				hold.End(fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted))
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

// A loss that the giving back finds out is a loss, and what no server has answered is
// neither.
func TestEndOfAGivingBackSaysWhatItHasFoundOut(t *testing.T) {
	expired := fmt.Errorf("%w: %w", session.ErrLost, session.ErrExpired)
	for name, c := range map[string]struct {
		err error
		end observe.End
	}{
		"confirmed":                              {nil, observe.Released},
		"expired":                                {expired, observe.Lost},
		"closed":                                 {fmt.Errorf("%w: %w", session.ErrLost, session.ErrClosed), observe.Lost},
		"deleted":                                {fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted), observe.Lost},
		"the caller gives up":                    {context.DeadlineExceeded, observe.Released},
		"the caller gives up after another loss": {fmt.Errorf("%w: %w", context.Canceled, expired), observe.Released},
		"no server answers":                      {fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrTrustRanOut, context.Canceled), observe.Unconfirmed},
		"refused":                                {errBroken, observe.Released},
	} {
		t.Run(name, func(t *testing.T) {
			_, last := observed(t, func(_ *world.World, _ *session.Hold, begin func() *observing.Hold) {
				h := begin()
				h.Begin()
				h.Ending()
				h.End(c.err)
			})
			require.Equal(t, c.end, last.End)
			require.Equal(t, c.err, last.Err)
			require.Zero(t, last.TrustLeft)
		})
	}
}

// The servers have ended a session that they have expired, whatever the last proof was.
func TestExpiredHoldHasNoTrustLeft(t *testing.T) {
	_, last := observed(t, func(w *world.World, hold *session.Hold, begin func() *observing.Hold) {
		begin().Begin()
		w.Server.CutAll()
		require.NoError(w, w.Server.ExpireSession(hold.Session().ID()))
		w.Pass(time.Second)
	})
	require.Equal(t, observe.Lost, last.End)
	require.ErrorIs(t, last.Err, session.ErrExpired)
	require.Zero(t, last.TrustLeft)
}

// A session that gives itself up does so before the servers can expire it.
func TestHoldWithoutProofIsLostWhileTrustIsLeft(t *testing.T) {
	_, last := observed(t, func(w *world.World, _ *session.Hold, begin func() *observing.Hold) {
		begin().Begin()
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		w.Pass(time.Minute)
		w.Server.HealLink(zktest.Link{})
	})
	require.Equal(t, observe.Lost, last.End)
	require.ErrorIs(t, last.Err, session.ErrTrustRanOut)
	require.GreaterOrEqual(t, last.TrustLeft, time.Duration(0))
}

// With a stop margin, holds end before the session: the margin is left.
func TestHoldThatEndsAheadOfItsSessionHasTheMarginLeft(t *testing.T) {
	for name, release := range map[string]bool{"while it is held": false, "found out by a release": true} {
		t.Run(name, func(t *testing.T) {
			margin := 2 * time.Second
			_, last := observedWith(t, session.Options{StopMargin: margin}, func(w *world.World, _ *session.Client, hold *session.Hold, begin func() *observing.Hold) {
				h := begin()
				h.Begin()
				if release {
					h.Ending()
				}
				w.Server.BlackHole(zktest.Link{}, zktest.Both)
				<-hold.Context().Done()
				require.NoError(w, hold.Session().Err())
				if release {
					h.End(hold.Err())
				}
				w.Pass(time.Minute)
				w.Server.HealLink(zktest.Link{})
			})
			require.Equal(t, observe.Lost, last.End)
			require.ErrorIs(t, last.Err, session.ErrTrustRanOut)
			require.InDelta(t, margin, last.TrustLeft, float64(50*time.Millisecond))
		})
	}
}

// A client that is closed ends its session at the servers, too: another client can have at
// once what it held.
func TestHoldOfAClosedClientHasNoTrustLeft(t *testing.T) {
	_, last := observedWith(t, session.Options{}, func(w *world.World, c *session.Client, _ *session.Hold, begin func() *observing.Hold) {
		begin().Begin()
		require.NoError(w, c.Close(w.Ctx))
	})
	require.Equal(t, observe.Lost, last.End)
	require.ErrorIs(t, last.Err, session.ErrClosed)
	require.Zero(t, last.TrustLeft)
}

// A recipe that is made of another one reports its own wait only.
func TestSilentCallsReportNothing(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c, events := w.ClientObserved(func(e observe.Event) bool { return world.IsWaitOrHold(e) || world.IsUnknown(e) })
		unknown := fmt.Errorf("%w: %w", session.ErrUnknownOutcome, errBroken)
		for ctx, reports := range map[context.Context]int{observing.Silently(w.Ctx): 0, w.Ctx: 4} {
			wait := observing.BeginWait(ctx, c, observe.Round, "/b")
			wait.Queued("/b/1", 0)
			wait.End(errBroken)
			require.Equal(w, unknown, observing.Unknown(ctx, c, "barrier", "/b", "await", unknown))
			require.Len(w, events, reports)
			for range reports {
				<-events
			}
		}
	})
}

var errBroken = errors.New("broken") // read only
