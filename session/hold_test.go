package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// createHeld makes an ephemeral node and holds it.
func (w *world) createHeld(s *Session, path string) *Hold {
	w.Helper()
	_, err := s.Create(w.ctx, path, nil, Ephemeral, nil)
	require.NoError(w, err)
	h, err := s.Hold(w.ctx, path, nil)
	require.NoError(w, err)
	return h
}

// heartbeats counts transactions of checks from now on.
func (w *world) heartbeats() (count func() int) {
	var mu sync.Mutex
	n := 0
	w.srv.OnRequest(func(r zktest.Request) zktest.Action {
		mu.Lock()
		defer mu.Unlock()
		if r.OnlyChecks {
			n++
		}
		return zktest.Action{}
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func TestHeartbeatsAreSentOnlyWhileSomethingIsHeld(t *testing.T) {
	for name, tc := range map[string]struct {
		tick      time.Duration
		perMinute int
	}{"tick known": {2 * time.Second, 60}, "tick unknown": {0, 96}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, &Options{TickTime: tc.tick}, func(w *world) {
				count := w.heartbeats()
				w.sleep(time.Minute)
				assert.Zero(w, count(), "nothing is held")
				h := w.createHeld(w.s, "/h")
				before := count()
				w.sleep(time.Minute)
				assert.InDelta(w, tc.perMinute, count()-before, 1)
				require.NoError(w, h.Err())
				h.End(nil)
				synctest.Wait()
				before = count()
				w.sleep(time.Minute)
				assert.Equal(w, before, count(), "nothing is held any more")
			})
		})
	}
}

func TestManyHoldsShareTheHeartbeats(t *testing.T) {
	inWorld(t, nil, &Options{TickTime: 2 * time.Second}, func(w *world) {
		for i := range 200 {
			w.createHeld(w.s, fmt.Sprintf("/h%03d", i))
		}
		var mu sync.Mutex
		checked := map[string]int{}
		largest, beats := 0, 0
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			mu.Lock()
			defer mu.Unlock()
			if r.OnlyChecks {
				beats++
				largest = max(largest, len(r.Paths))
				for _, p := range r.Paths {
					checked[p]++
				}
			}
			return zktest.Action{}
		})
		w.sleep(20 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		assert.InDelta(w, 20, beats, 1)
		assert.Equal(w, checksPerHeartbeat, largest)
		assert.Len(w, checked, 200, "each has its turn")
	})
}

// A heartbeat that no server accepts proves nothing: its checks must fit into a
// request, even with long paths.
func TestHeartbeatsFitIntoARequest(t *testing.T) {
	for _, room := range []int{0, -1} {
		name := strings.Repeat("h", 94)
		const limit = 17 + 10*(17+100) // ten checks, exactly
		inWorld(t, nil, &Options{TickTime: 2 * time.Second, MaxRequest: limit + room}, func(w *world) {
			for i := range 50 {
				w.createHeld(w.s, fmt.Sprintf("/%s%05d", name, i))
			}
			h := w.createHeld(w.s, "/last")
			w.sleep(time.Minute)
			require.NoError(w, w.s.Err())
			require.NoError(w, w.srv.Delete("/last"))
			w.sleep(w.s.Heartbeat() * 7)
			require.ErrorIs(w, h.Err(), ErrNodeDeleted)
		})
	}
}

func TestAHoldEndsWhenItsNodeIsDeleted(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		other := w.createHeld(w.s, "/other")
		w.sleep(2 * time.Second)
		began := time.Now()
		require.NoError(w, w.srv.Delete("/h"))
		<-h.Context().Done()
		assert.Less(w, time.Since(began), 10*time.Millisecond, "a watch tells, not the next heartbeat")
		require.ErrorIs(w, h.Err(), ErrNodeDeleted)
		require.ErrorIs(w, context.Cause(h.Context()), ErrNodeDeleted)
		assert.NoError(w, other.Err())
		assert.NoError(w, w.s.Err())
		w.sleep(time.Minute)
		assert.NoError(w, other.Err(), "its heartbeats go on")
	})
}

func TestAHoldEndsWhenItsNodeWentDuringADisconnect(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		other := w.createHeld(w.s, "/other")
		w.sleep(2 * time.Second)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		w.sleep(time.Second)
		require.NoError(w, w.srv.Delete("/h"))
		w.srv.CutAll()
		w.srv.Heal()
		w.sleep(2 * time.Second)
		require.ErrorIs(w, h.Err(), ErrNodeDeleted)
		w.sleep(time.Minute)
		assert.NoError(w, other.Err())
	})
}

func TestAHoldTakesOverItsCallersWatch(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, err := w.s.Create(w.ctx, "/h", nil, Ephemeral, nil)
		require.NoError(w, err)
		_, there, watch, err := w.s.ExistsW(w.ctx, "/h")
		require.NoError(w, err)
		require.True(w, there)
		h, err := w.s.Hold(w.ctx, "/h", watch)
		require.NoError(w, err)
		w.sleep(5 * time.Second)
		assert.Equal(w, 1, w.srv.Stats().Watches, "not a second watch")
		require.NoError(w, w.srv.Set("/h", []byte("x"))) // uses the watch up
		w.sleep(5 * time.Second)
		require.NoError(w, h.Err())
		assert.Equal(w, 1, w.srv.Stats().Watches, "set again by a heartbeat")
		require.NoError(w, w.srv.Delete("/h"))
		synctest.Wait()
		require.ErrorIs(w, h.Err(), ErrNodeDeleted)
	})
}

func TestAReleasedHoldSaysSoAndTheFirstEndCounts(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		derived, cancel := h.Derive()
		early, cancelEarly := h.Derive()
		defer cancel(nil)
		reason := errors.New("done early")
		cancelEarly(reason)
		require.ErrorIs(w, context.Cause(early), reason)
		require.NoError(w, h.Err())
		require.NoError(w, derived.Err())
		h.End(nil)
		h.End(errors.New("too late"))
		require.Equal(w, ErrReleased, h.Err())
		require.ErrorIs(w, derived.Err(), context.Canceled)
		require.Equal(w, ErrReleased, context.Cause(derived))
		assert.Equal(w, "/h", h.Path())
		assert.Same(w, w.s, h.Session())
	})
}

func TestAGuardRefusesAWriteOnceTheNodeIsGone(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/data", "")
		h := w.createHeld(w.s, "/h")
		other := w.connect("other", nil)
		defer w.close(other)
		s := w.session(other)
		_, err := s.Txn(w.ctx, h.Guard(), SetOp("/data", []byte("1"), -1))
		require.NoError(w, err)
		require.NoError(w, w.srv.Delete("/h"))
		_, err = s.Txn(w.ctx, h.Guard(), SetOp("/data", []byte("2"), -1))
		require.ErrorIs(w, err, ErrNoNode)
		node, err := w.srv.Get("/data")
		require.NoError(w, err)
		assert.Equal(w, "1", string(node.Data))
	})
}

func TestHoldProvesTheSessionAndTheNodeFirst(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.sleep(time.Minute) // an idle session proves nothing
		_, err := w.s.Hold(w.ctx, "/missing", nil)
		require.ErrorIs(w, err, ErrNoNode)
		require.ErrorContains(w, err, "verify /missing")

		w.createNode("/there", "")
		w.sleep(time.Minute)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		_, err = w.s.Hold(w.within(2*time.Second), "/there", nil)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.srv.Heal()
		h, err := w.s.Hold(w.ctx, "/there", nil)
		require.NoError(w, err)
		require.NoError(w, h.Err())
		assert.True(w, w.client.State().TrustedUntil.After(time.Now()))
	})
}

func TestEveryHoldEndsWithItsSession(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		a, b := w.createHeld(w.s, "/a"), w.createHeld(w.s, "/b")
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-a.Context().Done()
		<-b.Context().Done()
		for _, h := range []*Hold{a, b} {
			// The event of the node's deletion may come ahead of the end.
			if !errors.Is(h.Err(), ErrNodeDeleted) {
				require.ErrorIs(w, h.Err(), ErrExpired)
			}
		}
		<-w.s.Context().Done()
		for _, err := range []error{w.s.Err(), context.Cause(w.s.Context())} {
			require.ErrorIs(w, err, ErrLost)
			require.ErrorIs(w, err, ErrExpired)
		}
		_, err := w.s.Hold(w.ctx, "/a", nil)
		require.ErrorIs(w, err, ErrLost)
		next := w.session(w.client)
		assert.NotEqual(w, w.s.ID(), next.ID())
		assert.NoError(w, w.createHeld(next, "/a").Err())
	})
}

func TestAHoldSurvivesReconnects(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		for range 20 {
			w.sleep(1700 * time.Millisecond)
			w.srv.CutAll()
		}
		require.NoError(w, w.srv.Stop(1))
		w.sleep(2 * time.Second)
		require.NoError(w, w.srv.Restart(1))
		w.sleep(20 * time.Second)
		require.NoError(w, h.Err())
		assert.Same(w, w.s, w.session(w.client))
		assert.True(w, w.exists("/h"))
	})
}

func TestALostTrustIsNotResumed(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		h := w.createHeld(w.s, "/h")
		w.sleep(20 * time.Second)
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		began := time.Now()
		<-h.Context().Done()
		// The tick is not known: T - R - m less the two heartbeats in progress.
		assert.InDelta(w, 6.5, time.Since(began).Seconds(), 0.9)
		require.ErrorIs(w, h.Err(), ErrTrustRanOut)
		require.ErrorIs(w, h.Err(), ErrLost)
		w.srv.Heal()
		next := w.session(w.client)
		assert.NotEqual(w, w.s.ID(), next.ID())
		w.sleep(15 * time.Second)
		assert.False(w, w.exists("/h"))
		_, _, err := w.s.Get(w.ctx, "/")
		require.ErrorIs(w, err, ErrTrustRanOut)
	})
}

// Without a hold, waiting is harmless: the session is resumed if the server
// still has the session.
func TestWithoutAHoldASessionOutlivesALongOutage(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		require.NoError(w, w.srv.Stop(1))
		w.sleep(time.Minute) // a stopped server expires no sessions
		require.NoError(w, w.srv.Restart(1))
		_, _, err := w.s.Get(w.within(10*time.Second), "/")
		require.NoError(w, err)
		assert.Same(w, w.s, w.session(w.client))
	})
}

func TestTheWeakRuleWritesNothing(t *testing.T) {
	inWorld(t, nil, &Options{Trust: TrustAnswered}, func(w *world) {
		count := w.heartbeats()
		h := w.createHeld(w.s, "/h")
		w.sleep(5 * time.Minute)
		assert.Zero(w, count())
		require.NoError(w, h.Err())
		w.srv.BlackHole(zktest.Link{}, zktest.Both)
		<-h.Context().Done()
		require.ErrorIs(w, h.Err(), ErrTrustRanOut)
	})
}

func TestHoldsAndOtherRequestsRaceWithLoss(t *testing.T) {
	for _, seed := range seeds(t, rounds(20)) {
		t.Logf("seed %d", seed)
		inWorld(t, nil, nil, func(w *world) {
			var all sync.WaitGroup
			for i := range 10 {
				// Waited for below; ends with the session.
				all.Go(func() {
					for n := 0; ; n++ {
						path := fmt.Sprintf("/h-%d-%d", i, n)
						if _, err := w.s.Create(w.ctx, path, nil, Ephemeral, nil); err != nil && w.s.Err() != nil {
							return
						}
						if h, err := w.s.Hold(w.ctx, path, nil); err == nil && (n+i)%3 == 0 {
							h.End(nil)
						}
						time.Sleep(time.Duration(50+i) * time.Millisecond)
					}
				})
			}
			w.sleep(time.Second + time.Duration(seed)*31*time.Millisecond)
			switch seed % 3 {
			case 0:
				require.NoError(w, w.srv.ExpireSession(w.s.ID()))
			case 1:
				w.srv.BlackHole(zktest.Link{Session: w.s.ID()}, zktest.Both)
			case 2:
				w.srv.CutAll()
				w.close(w.client)
			}
			all.Wait()
			require.ErrorIs(w, w.s.Err(), ErrLost)
		})
	}
}
