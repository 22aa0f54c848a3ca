package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestInboxIsBounded: all answers are kept, since their number is that of the
// requests. Events can come faster than the view reads them, so their number is
// bounded.
func TestInboxIsBounded(t *testing.T) {
	in := newInbox()
	for range 2 * maxItems {
		in.put(item{event: session.Event{Type: session.EventDataChanged, Path: "/c"}})
	}
	in.put(item{reply: &reply{}})
	in.put(item{event: session.Event{Type: session.EventDisconnected}})
	require.False(t, in.empty())
	items, overrun := in.takeItems(nil)
	require.Len(t, items, maxItems+2)
	require.True(t, overrun)
	require.NotNil(t, items[maxItems].reply)
	require.Equal(t, session.EventDisconnected, items[maxItems+1].event.Type, "the last word of a subscription")
	items, overrun = in.takeItems(items)
	require.Empty(t, items)
	require.False(t, overrun)
	in.close()
	in.put(item{})
	require.True(t, in.empty())
}

// bytesOf runs a view of the children of /c in a world.
func bytesOf(w *world.World, v *Children[[]byte]) (stop func()) {
	ctx, cancel := context.WithCancel(w.Ctx)
	ended := make(chan error, 1)
	// Waited for by stop; ends with ctx.
	go func() { ended <- v.Run(ctx) }()
	require.NoError(w, v.WaitSynced(w.Ctx))
	return func() {
		cancel()
		<-ended
	}
}

// TestAnOverrunIsMadeGood: events that were dropped, because a decoder took its
// time, are not missed.
func TestAnOverrunIsMadeGood(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/c", nil))
		require.NoError(w, w.Server.Create("/c/a", []byte("0")))
		var slow atomic.Bool
		v := NewChildren(w.Client(), "/c", func(n session.Node) ([]byte, error) {
			if slow.Load() {
				world.Pause(time.Second)
			}
			return n.Data, nil
		}, nil)
		stop := bytesOf(w, v)
		slow.Store(true)
		for i := range maxItems + 500 {
			if i == maxItems+300 { // among the dropped items
				require.NoError(w, w.Server.Create("/c/late", []byte("late")))
			}
			require.NoError(w, w.Server.Set("/c/a", []byte(fmt.Sprint(i))))
		}
		w.Settle()
		slow.Store(false)
		w.Pass(time.Minute)
		require.NoError(w, v.WaitSynced(w.Ctx))
		e, _ := v.Get("a")
		require.Equal(w, fmt.Sprint(maxItems+499), string(e.Value))
		_, ok := v.Get("late")
		require.True(w, ok)
		stop()
	})
}

// TestAServerThatForgetsAboutPersistentWatches: the next one of a mixed ensemble
// refuses to set the watch again, which ends it.
func TestAServerThatForgetsAboutPersistentWatches(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/c", nil))
		v := NewChildren(w.Client(), "/c", Bytes, nil)
		stop := bytesOf(w, v)
		v.mu.Lock()
		in := v.link.inbox
		v.mu.Unlock()
		in.put(item{event: session.Event{Type: session.EventDisconnected}})
		w.Settle()
		require.NoError(w, v.WaitSynced(w.Ctx))
		require.Equal(w, 2, w.Server.Stats().Requests["addWatch"])
		require.NoError(w, w.Server.Create("/c/a", nil))
		w.Settle()
		require.Equal(w, 1, v.Len())
		stop()
		w.Settle()
		w.RequireNoWatches()
	})
}

// TestWatchesOfUnusedAnswersAreStopped: Run ends by an answer, and others
// have been taken with it.
func TestWatchesOfUnusedAnswersAreStopped(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/c", nil))
		c := w.Client()
		v := NewValue(c, "/c", Bytes, nil)
		ended := make(chan error, 1)
		// Waited for below; ends by the answer.
		go func() { ended <- v.Run(w.Ctx) }()
		require.NoError(w, v.WaitSynced(w.Ctx))
		_, _, watch, err := w.Session(c).GetW(w.Ctx, "/")
		require.NoError(w, err)
		refusal := errors.New("an answer after which it cannot go on")
		v.mu.Lock()
		in := v.link.inbox
		v.mu.Unlock()
		in.mu.Lock()
		in.items = append(in.items, item{reply: &reply{err: refusal}}, item{reply: &reply{seen: session.Seen{Watch: watch}}})
		in.mu.Unlock()
		in.put(item{})
		require.ErrorIs(w, <-ended, refusal)
		w.Settle()
		w.RequireNoWatches()
	})
}

// TestNothingIsProvedBeforeItIsShown: changes that are found together with a lost
// connection are in the view before AsOf confirms them.
func TestNothingIsProvedBeforeItIsShown(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var v *Children[[]byte]
		v = NewChildren(w.Client(), "/c", func(n session.Node) ([]byte, error) {
			require.Zero(w, v.Status().AsOf)
			return n.Data, nil
		}, nil)
		r := &runner[[]byte]{View: v.View}
		v.machine.stalled = false
		v.machine.changes = []change{{kind: EventAdded, path: "/c/a"}}
		require.True(w, v.machine.idle())
		require.NoError(w, r.handleItem(w.Ctx, item{heard: time.Now()}))
		require.NotZero(w, v.Status().AsOf)
		require.Equal(w, 1, v.Len())
	})
}

// TestARunThatEndsDoesNotEndTheNext: the reason why a run ended is published before the
// view can be run again, and not after.
func TestARunThatEndsDoesNotEndTheNext(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		v := NewValue(w.Client(), "/c", Bytes, nil)
		why, stopped := errors.New("why it ends"), make(chan struct{})
		require.True(w, v.start())
		v.store.mu.Lock() // it cannot be told yet
		// Waited for below; ends when store.mu is free.
		go func() { v.stop(why); close(stopped) }()
		again := false
		for range 1000 {
			runtime.Gosched()
			if v.mu.TryLock() {
				again = again || !v.running
				v.mu.Unlock()
			}
		}
		v.store.mu.Unlock()
		<-stopped
		require.False(w, again)
		require.ErrorIs(w, v.Status().Err, why)
		require.True(w, v.start())
		require.NoError(w, v.Status().Err)
	})
}
