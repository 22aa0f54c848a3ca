package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestASlowReaderGetsASnapshotInstead: the reader's queue is bounded, and the
// reported events add up to the view nevertheless.
func TestASlowReaderGetsASnapshotInstead(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "")
		v := run(w, cache.NewChildren(w.Client(), "/c", text, &cache.Options{Buffer: 10}).View)
		v.synced(w)
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		proceed := make(chan struct{})
		var kinds []cache.EventKind
		shown := map[string]string{}
		done := make(chan struct{})
		// Waited for through done; ends with ctx.
		go func() {
			defer close(done)
			for ev, err := range v.Events(ctx) {
				if err != nil {
					return
				}
				kinds = append(kinds, ev.Kind)
				apply(shown, ev)
				<-proceed
			}
		}()
		quick := record(w, v.View)
		w.Settle()
		for i := range 100 { // the slow one stands in its first event
			put(w, fmt.Sprintf("/c/%03d", i), "x")
			w.Settle()
		}
		close(proceed)
		w.Settle()
		require.Equal(w, []cache.EventKind{cache.EventSnapshot, cache.EventSnapshot}, kinds)
		require.Equal(w, contents(v.Snapshot()), shown)
		require.Len(w, shown, 100)
		require.Len(w, quick.said(w), 101, "no other caller notices")
		put(w, "/c/000", "y")
		w.Settle()
		require.Equal(w, cache.EventUpdated, kinds[len(kinds)-1])
		require.Equal(w, contents(v.Snapshot()), shown)
		cancel()
		<-done
	})
}

func TestAReaderOfAFullBufferMissesNothing(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "")
		v := run(w, cache.NewChildren(w.Client(), "/c", text, &cache.Options{Buffer: 10}).View)
		v.synced(w)
		var got []cache.EventKind
		for ev, err := range v.Events(w.Ctx) {
			require.NoError(w, err)
			if got = append(got, ev.Kind); len(got) == 1 {
				for i := range 10 { // as many as fit
					put(w, fmt.Sprintf("/c/%03d", i), "x")
				}
				w.Settle()
			}
			if len(got) == 11 {
				break
			}
		}
		require.NotContains(w, got[1:], cache.EventSnapshot)
	})
}

// A reader whose context has ended does not get the events that wait for it.
func TestEventsEndWithTheirContextWhateverWaits(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "")
		v := run(w, cache.NewChildren(w.Client(), "/c", text, nil).View)
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		var got []error
		for ev, err := range v.Events(ctx) {
			switch got = append(got, err); len(got) {
			case 1:
				put(w, "/c/a", "1", "/c/b", "2", "/c/c", "3")
				w.Settle()
			case 2:
				require.Equal(w, cache.EventAdded, ev.Kind)
				cancel()
			}
		}
		require.Len(w, got, 3)
		require.ErrorIs(w, got[2], context.Canceled)
	})
}

// A reader may be there before the view is, and outlive its Run.
func TestEventsBeginOnceTheViewIsLoadedAndOutliveRun(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1")
		c := w.Client()
		v := cache.NewChildren(c, "/c", text, nil).View
		tape := record(w, v)
		require.Empty(w, tape.said(w))
		r := run(w, v)
		require.Equal(w, []string{"snapshot of 1"}, tape.said(w))
		require.NoError(w, r.stop())
		put(w, "/c/a", "2", "/c/b", "3")
		require.Empty(w, tape.said(w), "the view is not run")
		r = run(w, v)
		require.ElementsMatch(w, []string{"/c/a 1: 2", "+ /c/b 3"}, tape.said(w))
		tape.cancel()
		require.ErrorIs(w, <-tape.ended, context.Canceled)
		r.synced(w)
	})
}

// CH49: the client is closed first.
func TestWaitForAViewOfAClosedClientFails_CH49(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1")
		c := w.Client()
		v := run(w, cache.NewTree(c, "/c", text, nil).View)
		v.synced(w)
		tape := record(w, v.View)
		tape.said(w)
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, <-v.ended, session.ErrClosed)
		require.ErrorIs(w, <-tape.ended, session.ErrClosed)
		require.ErrorIs(w, v.WaitSynced(w.Ctx), session.ErrClosed)
		require.ErrorIs(w, v.Run(w.Ctx), session.ErrClosed)
		require.ErrorIs(w, v.Status().Err, session.ErrClosed)
		v.shows(w, "/c", "", "/c/a", "1")
		w.Pass(time.Minute)
		require.Zero(w, w.Server.Stats().Connections)
	})
}

func TestEventKindsHaveNames(t *testing.T) {
	for kind, name := range map[cache.EventKind]string{
		cache.EventSnapshot: "snapshot", cache.EventAdded: "added", cache.EventUpdated: "updated",
		cache.EventRemoved: "removed", 99: "unknown",
	} {
		require.Equal(t, name, kind.String())
	}
}
