package session

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// suspend sets the clock as after a suspension of the machine for d.
func (w *world) suspend(d time.Duration) { w.s.clock.slept.Store(int64(d)) }

// busyLink keeps the session's link busy until release is called.
func (w *world) busyLink() (release func()) {
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	// Waited for by release; ends when release is called.
	go func() {
		defer close(left)
		call := &wire.Call{Op: wire.OpSync, Done: func(wire.Answer) {}}
		assert.NoError(w, w.s.link.Send(call, func(e *wire.Encoder) {
			close(entered)
			<-leave
			e.String("/")
		}))
	}()
	<-entered
	return func() {
		close(leave)
		<-left
	}
}

// awaitLoss waits until a goroutine that checks the lease has given the session
// up.
func (k *leaseRenewer) awaitLoss() bool {
	for range 1_000_000 {
		k.mu.Lock()
		lost := k.lost
		k.mu.Unlock()
		if lost {
			return true
		}
		runtime.Gosched()
	}
	return false
}

// Two goroutines look at the same moment after a suspension of the machine. The
// first finds the trust ended and ends the session, which takes a while because
// the link is busy. The second goroutine must see the loss too, although the
// first has not finished.
func TestASecondCheckAfterAPauseSeesTheLossToo(t *testing.T) {
	for name, look := range map[string]func(*Hold) error{
		"hold":            func(h *Hold) error { return h.Err() },
		"hold's context":  func(h *Hold) error { return h.Context().Err() },
		"session":         func(h *Hold) error { return h.Session().Context().Err() },
		"derived context": func(h *Hold) error { ctx, cancel := h.Derive(); defer cancel(nil); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				h := w.createHeld(w.s, "/h")
				release := w.busyLink()
				w.suspend(time.Minute)
				first := make(chan error, 1)
				// Waited for below; ends when the look does.
				go func() { first <- h.Context().Err() }()
				require.True(w, w.s.renewer.awaitLoss())
				assert.Error(w, look(h), "the second look")
				release()
				assert.Error(w, <-first, "the first look")
				require.ErrorIs(w, h.Err(), ErrTrustRanOut)
			})
		})
	}
}

// With a stop margin the holds end one by one, ahead of the session. A
// goroutine that sees the first hold end must find the last hold ended.
func TestAllHoldsOfAMarginEndAtOnceWhenChecked(t *testing.T) {
	inWorld(t, nil, &Options{StopMargin: time.Second}, func(w *world) {
		first := w.createHeld(w.s, "/h")
		last := first
		for range 10_000 {
			var err error
			last, err = w.s.Hold(w.ctx, "/h", nil)
			require.NoError(w, err)
		}
		seen := make(chan error, 1)
		// Waited for below; ends when the first hold has.
		go func() {
			<-first.Context().Done()
			seen <- last.Context().Err()
		}()
		synctest.Wait()
		w.suspend(w.s.renewer.leaseEnd().Sub(w.s.now()) - time.Second/2)
		require.Error(w, first.Context().Err())
		assert.Error(w, <-seen)
		require.NoError(w, w.s.Err(), "the reserve is not over")
	})
}

// Many looks at once, on as many processors as there are.
func TestLooksAfterAPauseAgree(t *testing.T) {
	for range rounds(30) {
		inWorld(t, nil, nil, func(w *world) {
			h := w.createHeld(w.s, "/h")
			ready, looked := make(chan struct{}), sync.WaitGroup{}
			for range 4 {
				// Waited for below; ends when the look does.
				looked.Go(func() {
					<-ready
					assert.Error(w, h.Context().Err())
				})
			}
			w.suspend(time.Minute)
			close(ready)
			looked.Wait()
		})
	}
}

// callers notes on whose goroutine functions of the user are called.
type callers struct {
	mu     sync.Mutex
	called map[string]int
	inLook map[string]int // on the goroutine that looks at a context
}

func (c *callers) call(what string) {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	look := false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		look = look || strings.HasSuffix(f.Function, "clocked.Err")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called[what]++
	if look {
		c.inLook[what]++
	}
}

// Observe notes an event.
func (c *callers) Observe(_ context.Context, e observe.Event) { c.call(e.Name()) }

// ObserveRequest notes a request.
func (c *callers) ObserveRequest(_ context.Context, r observe.Request) { c.call("request " + r.Op) }

// A goroutine that looks at a context may hold the same mutex that a callback
// takes.
func TestCheckingAContextCallsNoFunction(t *testing.T) {
	for name, look := range map[string]func(h *Hold, derived context.Context) error{
		"hold":            func(h *Hold, _ context.Context) error { return h.Err() },
		"hold's context":  func(h *Hold, _ context.Context) error { return h.Context().Err() },
		"session":         func(h *Hold, _ context.Context) error { return h.Session().Context().Err() },
		"derived context": func(_ *Hold, derived context.Context) error { return derived.Err() },
	} {
		for _, reserve := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%s, reserve %v", name, reserve), func(t *testing.T) {
				c := &callers{called: map[string]int{}, inLook: map[string]int{}}
				inWorld(t, nil, &Options{Observer: c, StopMargin: reserve}, func(w *world) {
					w.createNode("/x", "")
					h := w.createHeld(w.s, "/h")
					derived, cancel := h.Derive()
					defer cancel(nil)
					_, err := w.s.Subscribe(w.ctx, "/x", false, func(ev Event) { c.call("notify " + ev.Type.String()) })
					require.NoError(w, err)
					_, _, watch, err := w.s.ChildrenW(w.ctx, "/")
					require.NoError(w, err)
					watch.OnFire(func(ev Event) { c.call("watch " + ev.Type.String()) })
					w.srv.BlackHole(zktest.Link{}, zktest.ToServer)
					w.s.StartChildren("/x", false).Then(func(Seen, error) { c.call("then") })
					synctest.Wait()
					w.suspend(time.Minute)
					require.Error(w, look(h, derived))
					w.srv.Heal()
					w.sleep(time.Second)
					c.mu.Lock()
					defer c.mu.Unlock()
					for _, what := range []string{"notify session over", "watch session over", "session lost", "request children", "then"} {
						assert.NotZero(w, c.called[what], what)
					}
					assert.Empty(w, c.inLook)
				})
			})
		}
	}
}
