package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// ErrHang is wrapped by the failure of a run whose program does not return.
var ErrHang = errors.New("hangs")

// returnLimit is how long programs may take to return when they are to stop. Their clean-up
// may have to wait for the expiry of sessions.
const returnLimit = 10 * time.Minute

// expiry is longer than the longest session that a server grants by default.
const expiry = 45 * time.Second

// firstElection is more than the time until an ensemble has its first leader. It is not a
// multiple of a tick.
const firstElection = 5*time.Second + 123456*time.Nanosecond

// result is the result of a run.
type result struct {
	schedule Schedule
	history  *History
	problem  *problem // nil: none
}

// perform makes a run in a bubble of its own: with the schedule, or, if there is none, with
// one that the seed decides.
func (o *Options) perform(t *testing.T, body func(w *World), seed uint64, schedule *Schedule) (out result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ready := time.Now().Add(firstElection)
		server, err := zktest.Start(o.serverOptions())
		if err != nil {
			t.Fatalf("sim: %v", err)
		}
		// A server that stays open would hide the failure behind that of the bubble.
		defer func() { _ = server.Close() }()
		if err := server.WaitLeader(t.Context()); err != nil {
			t.Fatalf("sim: %v", err)
		}
		// The first look at the leader after its election may be one later or earlier; from
		// here on, the clock has no relation to that of the servers.
		sleep(t.Context(), time.Until(ready))
		w := newWorld(t.Context(), server, seed)
		body(w)
		out.schedule = o.scheduleOf(w, schedule)
		hung := w.play(o, out.schedule)
		out.history, out.problem = w.judgeRun()
		if hung != nil {
			w.awaitHanging(t, out.problem.err, hung)
		}
	})
	return out
}

func (o *Options) serverOptions() *zktest.Options {
	opt := zktest.Options{Servers: 3}
	if o.Server != nil {
		opt = *o.Server
	}
	opt.InMemory = true
	return &opt
}

// scheduleOf is the given schedule, or that of the seed.
func (o *Options) scheduleOf(w *World, given *Schedule) Schedule {
	if given != nil {
		return *given
	}
	space := o.Faults
	space.Processes, space.Servers = w.history.Processes, strings.Count(w.Server.Addr(), ",")+1
	return space.Draw(rand.New(rand.NewPCG(w.seed, 1)))
}

// play starts the processes, injects the faults, lets the calm pass, and stops the
// processes. It returns a channel if programs do not return, closed when they have.
func (w *World) play(o *Options, schedule Schedule) (hung chan struct{}) {
	start := rand.New(rand.NewPCG(w.seed, 4))
	for _, m := range w.members {
		sleep(w.ctx, time.Duration(1+start.Int64N(int64(100*time.Millisecond))))
		m.start()
	}
	in := &Injector{Server: w.Server, on: w}
	if err := in.Inject(w.ctx, schedule); err != nil {
		w.fail("schedule", err)
	}
	w.mu.Lock()
	w.history.Healed = time.Since(w.began)
	w.mu.Unlock()
	sleep(w.ctx, o.calm())
	w.mu.Lock()
	w.history.End = time.Since(w.began)
	w.stop(ErrStopped)
	w.mu.Unlock()
	returned := make(chan struct{})
	// Waited for below, or by awaitHanging; ends when all programs have returned.
	go func() {
		w.running.Wait()
		close(returned)
	}()
	limit := time.NewTimer(returnLimit)
	defer limit.Stop()
	select {
	case <-returned:
		w.checkFinals()
		hung = nil
	case <-limit.C:
		w.fail("hang", fmt.Errorf("%s: a program %w: it has not returned %v after the end of its context", w.unfinished(), ErrHang, returnLimit))
		hung = returned
	}
	for _, f := range w.cleanups {
		f()
	}
	return hung
}

// unfinished names the processes that have not returned.
func (w *World) unfinished() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := map[string]bool{}
	for _, e := range w.history.Events {
		if e.Process != "" && (e.Kind == Started || e.Kind == Ended) {
			ended[e.Process] = e.Kind == Ended
		}
	}
	var out []string
	for _, name := range w.history.Processes {
		if !ended[name] {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return "a killed process"
	}
	return strings.Join(out, ", ")
}

// checkFinals makes the checks of the state at the end.
func (w *World) checkFinals() {
	if len(w.finals) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), returnLimit)
	defer cancel()
	sleep(ctx, expiry)
	for _, f := range w.finals {
		w.fail(f.name, f.check(ctx))
	}
}

// judgeRun returns the history, and the first failure of the run: what was noted while it ran,
// or the first broken invariant.
func (w *World) judgeRun() (*History, *problem) {
	w.mu.Lock()
	h, noted := w.history, w.problems // programs that hang may add to them
	w.mu.Unlock()
	if len(noted) > 0 {
		return &h, &noted[0]
	}
	for _, i := range w.invariants {
		if err := i.Check(&h); err != nil {
			return &h, &problem{i.Name, err}
		}
	}
	return &h, nil
}

// awaitHanging waits for programs that did not return, since a bubble must not leave
// goroutines behind. Most return when the server has gone. If one never does, the bubble
// ends the test, so the reason is printed first.
func (w *World) awaitHanging(t *testing.T, failure error, returned chan struct{}) {
	_ = w.Server.Close()
	day := time.NewTimer(24 * time.Hour)
	defer day.Stop()
	select {
	case <-returned:
	case <-day.C:
		_, _ = fmt.Fprintf(os.Stderr, "sim: %s, seed %d: %v, not even now\n", t.Name(), w.seed, failure)
		t.Fatalf("sim: seed %d: %v, not even now", w.seed, failure)
	}
}
