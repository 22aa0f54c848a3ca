package session

import (
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// yieldOften lets all other goroutines run, on one processor.
func yieldOften() {
	for range 50 {
		runtime.Gosched()
	}
}

// queued makes a queue for the session's link, long enough for sync.Mutex to
// hand the link over directly from goroutine to goroutine, with the processor.
// The goroutine of do is second in the queue, so it loses its processor as soon
// as its request is submitted. Everything runs on one processor.
func queued(s *Session, do func()) {
	var all sync.WaitGroup
	first, second := make(chan struct{}), make(chan struct{})
	body := func(leave chan struct{}) func(*wire.Encoder) {
		return func(e *wire.Encoder) {
			<-leave
			e.String("/")
		}
	}
	// Waited for below; ends when both channels are closed.
	all.Go(func() {
		for _, leave := range []chan struct{}{first, second} {
			_ = s.link.Send(&wire.Call{Op: wire.OpSync, Done: func(wire.Answer) {}}, body(leave))
		}
	})
	yieldOften()
	for _, next := range []func(){func() { s.link.Ended() }, do, func() { s.link.Ended() }} {
		// Waited for below; ends when its turn in the line has come.
		all.Go(next)
		yieldOften()
	}
	for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
		runtime.Gosched()
	}
	close(first)
	yieldOften()
	close(second)
	all.Wait()
}

// The answer to a subscription may arrive before the subscriber continues.
// One-shot watches rely on the recorded state: if the subscription did not
// count as set, the end of a one-shot watch would remove the subscription on
// the server.
func TestASubscriptionWhoseAnswerIsQuickCountsAsSet(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	srv, err := zktest.Start(&zktest.Options{InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	w := &world{T: t, srv: srv, ctx: t.Context()}
	w.client = w.connect("", nil)
	defer w.close(w.client)
	w.s = w.session(w.client)
	w.createNode("/x", "")
	for range 20 {
		var n atomic.Int32
		var sub *Subscription
		queued(w.s, func() {
			var err error
			sub, err = w.s.Subscribe(w.ctx, "/x", false, func(Event) { n.Add(1) })
			assert.NoError(t, err)
		})
		require.True(t, w.s.subs.covers("/x"))
		_, _, watch, err := w.s.GetW(w.ctx, "/x")
		require.NoError(t, err)
		watch.Stop()
		for range 5 {
			require.NoError(t, srv.Set("/x", nil))
		}
		_, _, err = w.s.Exists(w.ctx, "/x") // events come ahead of its answer
		require.NoError(t, err)
		require.EqualValues(t, 5, n.Load())
		sub.Stop()
	}
}

// refusing simulates a server that refuses subscriptions: it turns addWatch
// into a read of a missing node.
type refusing struct{ net.Conn }

func (c refusing) Write(p []byte) (int, error) {
	const header = 4 + 4 + 4 // length, xid, operation; then the path, length first
	p = append([]byte(nil), p...)
	for at := 0; at+header+4+2 <= len(p); at += 4 + int(binary.BigEndian.Uint32(p[at:])) {
		if op := p[at+8:]; binary.BigEndian.Uint32(op) == uint32(wire.OpAddWatch) {
			binary.BigEndian.PutUint32(op, uint32(wire.OpGetData))
			p[at+header+4+1] = '#'
		}
	}
	return c.Conn.Write(p)
}

// The next server, of an older version, refuses to set the subscription again.
// A one-shot watch set before the refusal is known relies on the subscription,
// and must be woken. A later one-shot watch must be set on the server.
func TestASubscriptionThatTheNewServerRefusesEndsAndWakesItsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, srv.Close()) }()
		w := &world{T: t, srv: srv, ctx: t.Context()}
		dial, dials := srv.Client(""), 0
		w.client = w.connect("", &Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			raw, err := dial(ctx, network, addr)
			if dials++; dials == 1 || err != nil {
				return raw, err
			}
			return refusing{raw}, nil
		}})
		defer w.close(w.client)
		w.s = w.session(w.client)
		w.createNode("/x", "")
		var events heard
		var early *Future[Seen]
		for range 2 { // two of the same path, and another one
			_, err = w.s.Subscribe(w.ctx, "/x", false, events.notify)
			require.NoError(t, err)
		}
		_, err = w.s.Subscribe(w.ctx, "/y", true, func(ev Event) {
			events.notify(ev)
			if ev.Type == EventReattached {
				early = w.s.StartGet("/x", true)
			}
		})
		require.NoError(t, err)

		srv.Cut(w.s.ID())
		w.sleep(5 * time.Second)
		got := events.drain()
		require.Len(t, got, 6)
		for i, ev := range got {
			want := EventReattached
			if i >= 3 {
				want = EventDisconnected
			}
			assert.Equal(t, Event{Type: want}, ev)
		}
		require.NotNil(t, early)
		seen, err := early.Wait(w.ctx)
		require.NoError(t, err)
		assert.Equal(t, EventDisconnected, w.fires(seen.Watch).Type)

		_, _, late, err := w.s.GetW(w.ctx, "/x")
		require.NoError(t, err)
		require.NoError(t, srv.Set("/x", []byte("new")))
		assert.Equal(t, Event{EventDataChanged, "/x"}, w.fires(late))
		w.close(w.client)
		assert.Empty(t, events.drain(), "after the last event")
	})
}

// slowReader is a subscription's function that is slow for the first event, as
// a scheduler may cause.
type slowReader struct {
	heard
	inside  chan struct{} // closed in the first event
	enough  func() bool
	busy    atomic.Int32
	overlap atomic.Bool
}

func (r *slowReader) notify(ev Event) {
	if r.busy.Add(1) > 1 {
		r.overlap.Store(true)
	}
	defer r.busy.Add(-1)
	r.heard.notify(ev)
	if ev.Type != EventDataChanged {
		return
	}
	close(r.inside)
	for i := 0; i < 20_000 && !r.enough(); i++ {
		runtime.Gosched()
	}
}

// The session ends during the delivery of an event, and another goroutine
// reports the end. The end must wait for the first reader. The event must not
// reach the second reader after the end.
func TestEventsAreToldOneAtATimeAndNoneAfterTheLast(t *testing.T) {
	for name, end := range map[string]func(w *world, h *Hold){
		"closed": func(w *world, _ *Hold) { w.close(w.client) },
		"given up": func(w *world, h *Hold) {
			w.suspend(time.Minute)
			require.Error(w, h.Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range rounds(10) { // the end comes to either of the two first
				inWorld(t, nil, nil, func(w *world) { endWithinAnEvent(w, end) })
			}
		})
	}
}

func endWithinAnEvent(w *world, end func(w *world, h *Hold)) {
	w.createNode("/x", "")
	h := w.createHeld(w.s, "/h")
	first, second := slowReader{inside: make(chan struct{})}, heard{}
	first.enough = func() bool {
		second.mu.Lock()
		defer second.mu.Unlock()
		return first.overlap.Load() && len(second.events) > 0
	}
	_, err := w.s.Subscribe(w.ctx, "/x", false, first.notify)
	require.NoError(w, err)
	_, err = w.s.Subscribe(w.ctx, "/", true, second.notify)
	require.NoError(w, err)
	require.NoError(w, w.srv.Set("/x", nil))
	<-first.inside
	end(w, h)
	w.sleep(time.Second)
	assert.False(w, first.overlap.Load(), "two events at once")
	over := Event{Type: EventSessionOver}
	assert.Equal(w, []Event{{EventDataChanged, "/x"}, over}, first.drain())
	told := second.drain()
	assert.Equal(w, len(told)-1, slices.Index(told, over), "after the last event: %v", told)
}
