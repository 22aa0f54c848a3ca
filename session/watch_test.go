package session

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// fires waits for a watch and returns its event.
func (w *world) fires(watch *Watch) Event {
	w.Helper()
	ev, err := watch.Wait(w.within(time.Minute))
	require.NoError(w, err)
	return ev
}

// N9, N10, N11.
func TestWatchesFireOnWhatTheyWatch(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		_, _, data, err := w.s.GetW(w.ctx, "/n")
		require.NoError(w, err)
		_, _, list, err := w.s.ChildrenW(w.ctx, "/n")
		require.NoError(w, err)
		_, there, absent, err := w.s.ExistsW(w.ctx, "/n/x")
		require.NoError(w, err)
		require.False(w, there)
		assert.Equal(w, 3, w.srv.Stats().Watches)

		w.createNode("/n/x", "")
		assert.Equal(w, Event{EventChildrenChanged, "/n"}, w.fires(list))
		assert.Equal(w, Event{EventCreated, "/n/x"}, w.fires(absent))
		require.NoError(w, w.srv.Set("/n", []byte("1")))
		assert.Equal(w, Event{EventDataChanged, "/n"}, w.fires(data))
		assert.Equal(w, Event{EventDataChanged, "/n"}, data.Event())

		_, _, gone, err := w.s.GetW(w.ctx, "/n/x")
		require.NoError(w, err)
		_, _, below, err := w.s.ChildrenW(w.ctx, "/n/x")
		require.NoError(w, err)
		require.NoError(w, w.srv.Delete("/n/x"))
		assert.Equal(w, Event{EventDeleted, "/n/x"}, w.fires(gone))
		assert.Equal(w, Event{EventDeleted, "/n/x"}, w.fires(below))
		assert.Zero(w, w.s.watches.count())
		assert.Zero(w, w.srv.Stats().Watches)
	})
}

func TestAReadThatFailsLeavesNoWatch(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, _, watch, err := w.s.GetW(w.ctx, "/none")
		require.ErrorIs(w, err, ErrNoNode)
		assert.Nil(w, watch)
		_, _, watch, err = w.s.ChildrenW(w.ctx, "/none")
		require.ErrorIs(w, err, ErrNoNode)
		assert.Nil(w, watch)
		_, _, _, err = w.s.ExistsW(w.ctx, "relative")
		require.ErrorIs(w, err, ErrInvalidPath)
		assert.Zero(w, w.s.watches.count())
		assert.Zero(w, w.srv.Stats().Watches)
	})
}

// P24, CH10, CL16: abandoned watches leave nothing behind. A watch for a node's
// creation is stopped while another read of the path is in progress. The watch
// must still be removed on the server, because the read is refused.
func TestAWatchThatIsStoppedOverAReadThatFailsIsTakenBack(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		for range 3 {
			_, there, absent, err := w.s.ExistsW(w.ctx, "/none")
			require.NoError(w, err)
			require.False(w, there)
			reads := []*Future[Seen]{w.s.StartGet("/none", true), w.s.StartGet("/none", true)}
			absent.Stop()
			for _, read := range reads {
				_, err = read.Wait(w.ctx)
				require.ErrorIs(w, err, ErrNoNode)
			}
			synctest.Wait()
			assert.Zero(w, w.s.watches.count())
			assert.Zero(w, countOwed(w.s.watches))
			assert.Zero(w, w.srv.Stats().Watches, "%v", w.srv.Watches())
		}
		// An answered read keeps the server's watch until its own end.
		_, _, first, err := w.s.ExistsW(w.ctx, "/none")
		require.NoError(w, err)
		read := w.s.StartExists("/none", true)
		first.Stop()
		seen, err := read.Wait(w.ctx)
		require.NoError(w, err)
		w.createNode("/none", "")
		assert.Equal(w, Event{EventCreated, "/none"}, w.fires(seen.Watch))
		assert.Zero(w, countOwed(w.s.watches))
	})
}

func countOwed(ws *watchSet) int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return len(ws.owed)
}

func TestTenThousandStoppedWatchesLeaveNothing(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		heapNow := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		var before int64
		for i := range 10_000 {
			if i == 1000 {
				before = heapNow()
			}
			_, _, watch, err := w.s.ExistsW(w.ctx, fmt.Sprintf("/never-%d", i))
			require.NoError(w, err)
			watch.Stop()
			watch.Stop() // harmless
			assert.Equal(w, Event{}, watch.Event())
		}
		w.sleep(time.Second)
		assert.Zero(w, w.srv.Stats().Watches)
		assert.Zero(w, w.s.watches.count())
		assert.Less(w, heapNow()-before, int64(2<<20))
	})
}

func TestAbandonedWatchesAreTakenBack(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.srv.Delay(zktest.Link{}, zktest.ToClient, time.Second)
		for i := range 100 {
			ctx, cancel := context.WithTimeout(w.ctx, time.Duration(i)*10*time.Millisecond)
			_, _, _, err := w.s.ExistsW(ctx, fmt.Sprintf("/x%d", i))
			cancel()
			require.ErrorIs(w, err, context.DeadlineExceeded)
		}
		w.srv.Heal()
		w.sleep(5 * time.Second)
		assert.Zero(w, w.s.watches.count())
		assert.Zero(w, w.srv.Stats().Watches)

		_, _, watch, err := w.s.ExistsW(w.ctx, "/y")
		require.NoError(w, err)
		_, err = watch.Wait(w.within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.sleep(time.Second)
		assert.Zero(w, w.srv.Stats().Watches)
	})
}

func TestStoppingOneWatchLeavesTheOthersOfItsPath(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		_, _, one, err := w.s.GetW(w.ctx, "/n")
		require.NoError(w, err)
		_, _, two, err := w.s.GetW(w.ctx, "/n")
		require.NoError(w, err)
		_, _, list, err := w.s.ChildrenW(w.ctx, "/n")
		require.NoError(w, err)
		one.Stop()
		w.sleep(time.Second)
		require.NoError(w, w.srv.Set("/n", []byte("1")))
		assert.Equal(w, EventDataChanged, w.fires(two).Type)
		w.createNode("/n/x", "")
		assert.Equal(w, EventChildrenChanged, w.fires(list).Type)
	})
}

// A removal must never overtake, and cancel, a registration made after it.
func TestStopsAndRegistrationsOfOnePathRace(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "")
		var stopping sync.WaitGroup
		ctx, stop := context.WithCancel(w.ctx)
		for range 8 {
			// Waited for below; ends with ctx.
			stopping.Go(func() {
				for ctx.Err() == nil {
					if _, _, watch, err := w.s.GetW(ctx, "/n"); err == nil {
						watch.Stop()
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for i := range 500 {
			_, _, watch, err := w.s.GetW(w.ctx, "/n")
			require.NoError(w, err)
			w.sleep(time.Duration(i%3) * time.Millisecond)
			require.NoError(w, w.srv.Set("/n", nil))
			assert.Equal(w, EventDataChanged, w.fires(watch).Type)
		}
		stop()
		stopping.Wait()
		w.sleep(time.Second)
		assert.Zero(w, w.srv.Stats().Watches)
	})
}

func TestWatchesEndWithTheirConnectionAndSession(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, _, watch, err := w.s.ExistsW(w.ctx, "/n")
		require.NoError(w, err)
		w.srv.CutAll()
		assert.Equal(w, EventDisconnected, w.fires(watch).Type)
		_, _, watch, err = w.s.ExistsW(w.ctx, "/n")
		require.NoError(w, err)
		assert.Equal(w, 1, w.srv.Stats().Watches)
		var seen []Event
		watch.OnFire(func(ev Event) { seen = append(seen, ev) })
		w.close(w.client)
		assert.Equal(w, []Event{{Type: EventSessionOver}}, seen)
		watch.OnFire(func(ev Event) { seen = append(seen, ev) })
		assert.Len(w, seen, 2, "a fired watch reports at once")
		watch.Stop()
	})
}

func TestAStoppedWatchNeverTells(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, _, watch, err := w.s.ExistsW(w.ctx, "/n")
		require.NoError(w, err)
		watch.OnFire(func(Event) { w.Error("told") })
		watch.Stop()
		watch.OnFire(func(Event) { w.Error("told") })
		w.createNode("/n", "")
		w.sleep(time.Second)
	})
}

// heard collects a subscription's events.
type heard struct {
	mu     sync.Mutex
	events []Event
}

func (h *heard) notify(ev Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, ev)
}

// drain returns the events since the last call.
func (h *heard) drain() []Event {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.events
	h.events = nil
	return out
}

func TestASubscriptionStays(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var deep, flat heard
		sub, err := w.s.Subscribe(w.ctx, "/tree", true, deep.notify)
		require.NoError(w, err)
		_, err = w.s.Subscribe(w.ctx, "/flat", false, flat.notify)
		require.NoError(w, err)
		w.createNode("/tree", "")
		w.createNode("/tree/a", "")
		w.createNode("/tree/a/b", "")
		require.NoError(w, w.srv.Set("/tree/a/b", []byte("1")))
		require.NoError(w, w.srv.Delete("/tree/a/b"))
		w.createNode("/flat", "")
		w.createNode("/flat/a", "")
		w.createNode("/flat/a/b", "")
		w.createNode("/treehouse", "")
		assert.Equal(w, []Event{
			{EventCreated, "/tree"}, {EventCreated, "/tree/a"}, {EventCreated, "/tree/a/b"},
			{EventDataChanged, "/tree/a/b"}, {EventDeleted, "/tree/a/b"},
		}, deep.drain())
		assert.Equal(w, []Event{{EventCreated, "/flat"}, {EventChildrenChanged, "/flat"}}, flat.drain())

		w.srv.CutAll()
		w.sleep(time.Second)
		assert.Equal(w, []Event{{Type: EventReattached}}, deep.drain())
		flat.drain()
		w.createNode("/tree/c", "")
		assert.Equal(w, []Event{{EventCreated, "/tree/c"}}, deep.drain())

		sub.Stop()
		sub.Stop() // harmless
		w.sleep(time.Second)
		w.createNode("/tree/d", "")
		assert.Empty(w, deep.drain())
		assert.NotContains(w, w.srv.Watches(), "/tree")
		assert.Contains(w, w.srv.Watches(), "/flat")
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		<-w.s.Context().Done()
		events := flat.drain()
		require.NotEmpty(w, events)
		assert.Equal(w, EventSessionOver, events[len(events)-1].Type)
	})
}

func TestTwoSubscriptionsOfOnePathShareTheServersWatch(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var one, two heard
		first, err := w.s.Subscribe(w.ctx, "/n", true, one.notify)
		require.NoError(w, err)
		second, err := w.s.Subscribe(w.ctx, "/n", true, two.notify)
		require.NoError(w, err)
		_, err = w.s.Subscribe(w.ctx, "/n", false, two.notify)
		require.ErrorIs(w, err, ErrInvalidOption)
		_, err = w.s.Subscribe(w.ctx, "n", false, two.notify)
		require.ErrorIs(w, err, ErrInvalidPath)
		first.Stop()
		w.sleep(time.Second)
		w.createNode("/n", "")
		assert.Empty(w, one.drain())
		assert.Len(w, two.drain(), 1)
		second.Stop()
		w.sleep(time.Second)
		assert.Zero(w, w.srv.Stats().Watches)
	})
}

func TestAnOldServerHasNoSubscriptions(t *testing.T) {
	inWorld(t, &zktest.Options{OldServer: true}, nil, func(w *world) {
		_, err := w.s.Subscribe(w.ctx, "/n", true, func(Event) {})
		require.ErrorIs(w, err, ErrUnsupported)
		_, _, watch, err := w.s.ExistsW(w.ctx, "/n")
		require.NoError(w, err)
		w.createNode("/n", "")
		assert.Equal(w, EventCreated, w.fires(watch).Type)
	})
}

// A one-shot watch beside a subscription of the same path fires, and the
// subscription stays (ZOOKEEPER-4466 turned it into a one-shot).
func TestAWatchAndASubscriptionOfOnePathGetAlong(t *testing.T) {
	for _, recursive := range []bool{false, true} {
		inWorld(t, nil, nil, func(w *world) {
			w.createNode("/n", "")
			var all heard
			sub, err := w.s.Subscribe(w.ctx, "/n", recursive, all.notify)
			require.NoError(w, err)
			for i := range 3 {
				_, _, data, err := w.s.GetW(w.ctx, "/n")
				require.NoError(w, err)
				_, _, list, err := w.s.ChildrenW(w.ctx, "/n")
				require.NoError(w, err)
				require.NoError(w, w.srv.Set("/n", []byte{byte(i)}))
				assert.Equal(w, EventDataChanged, w.fires(data).Type)
				w.createNode(fmt.Sprintf("/n/%d", i), "")
				assert.Equal(w, EventChildrenChanged, w.fires(list).Type)
				assert.Len(w, all.drain(), 2)
			}
			_, _, data, err := w.s.GetW(w.ctx, "/n")
			require.NoError(w, err)
			sub.Stop()
			assert.Equal(w, EventDisconnected, w.fires(data).Type, "the watch relied on the subscription: read again")
		})
	}
}

// A read whose request leaves before the subscription's must have a watch of
// its own, or a change between the two is missed.
func TestASubscriptionUnderWayCoversNothingYet(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/n", "0")
		ctx, stop := context.WithCancel(w.ctx)
		var churn sync.WaitGroup
		// Waited for below; ends with ctx.
		churn.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if sub, err := w.s.Subscribe(ctx, "/n", i%2 == 0, func(Event) {}); err == nil {
					time.Sleep(3 * time.Millisecond)
					sub.Stop()
				}
				if i%7 == 0 {
					w.srv.CutAll()
				}
			}
		})
		for i := range 300 {
			want := fmt.Sprint(i)
			var got []byte
			saw := make(chan struct{})
			// Waited for in this loop; ends when the goroutine has seen the value.
			go func() {
				defer close(saw)
				for {
					data, _, watch, err := w.s.GetW(w.ctx, "/n")
					if err != nil {
						return
					}
					if got = data; string(data) == want {
						watch.Stop()
						return
					}
					<-watch.Done()
				}
			}()
			w.sleep(time.Duration(i%5) * time.Millisecond)
			require.NoError(w, w.srv.Set("/n", []byte(want)))
			select {
			case <-saw:
			case <-time.After(time.Minute):
				require.Fail(w, "a change was missed", "round %d", i)
			}
			require.Equal(w, want, string(got))
		}
		stop()
		churn.Wait()
	})
}
