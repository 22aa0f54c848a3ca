package rebalanser_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// ponderer is an assignor that takes until it is released, or its context ends.
type ponderer struct {
	assignor.Assignor
	release chan struct{}

	// mu guards the rest: for how many members it began to compute, each time, and how
	// often it was stopped, and how many computations are in progress.
	mu               sync.Mutex
	begun            []int
	stopped, running int
	twice            bool // two were in progress
}

func newPonderer() *ponderer {
	return &ponderer{Assignor: assignor.Sticky(), release: make(chan struct{})}
}

func (p *ponderer) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *ponderer) AssignContext(ctx context.Context, ms []assignor.Member, rs []assignor.Resource) ([][]string, error) {
	p.note(func() {
		p.begun = append(p.begun, len(ms))
		p.running++
		p.twice = p.twice || p.running > 1
	})
	defer p.note(func() { p.running-- })
	select {
	case <-p.release:
		return p.Assign(ms, rs), nil
	case <-ctx.Done():
		p.note(func() { p.stopped++ })
		return nil, context.Cause(ctx)
	}
}

// seen requires what has happened so far.
func (p *ponderer) seen(t require.TestingT, stopped int, begun ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(t, begun, p.begun)
	require.Equal(t, stopped, p.stopped)
	require.False(t, p.twice)
}

func TestLeavingCoordinatorDoesNotWaitForItsPlan(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(3)
		p := newPonderer()
		c := w.node("c", rebalanser.Options{Assignor: p}).run()
		w.Pass(time.Minute)
		p.seen(w, 0, 1)
		began := time.Now()
		c.stop()
		require.Less(w, time.Since(began), time.Second)
		p.seen(w, 1, 1)
		require.Empty(w, c.takeCalls())
	})
}

// While a plan is computed, the member keeps its session, and the coordinator sees what
// changes: here that another member has joined. The next plan is not dropped for a third.
func TestCoordinatorDropsAPlanWhoseMembersHaveChanged(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		p := newPonderer()
		o := rebalanser.Options{Assignor: p}
		c1 := w.node("c1", o).run()
		w.Pass(5 * time.Minute)
		p.seen(w, 0, 1)
		c2 := w.node("c2", o).run()
		w.Pass(5 * time.Minute)
		p.seen(w, 1, 1, 2)
		c3 := w.node("c3", o).run()
		w.Pass(5 * time.Minute)
		p.seen(w, 1, 1, 2)
		quiet(w, c1, c2, c3)
		require.NoError(w, c1.group.State().Err)
		close(p.release)
		w.Pass(time.Minute)
		p.seen(w, 1, 1, 2, 3)
		w.shared(4, c1, c2, c3)
	})
}

// A group that is paused while its plan is computed is not rebalanced before it is resumed.
func TestPauseHoldsAPlanThatIsBeingComputed(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		p := newPonderer()
		c := w.node("c", rebalanser.Options{Assignor: p}).run()
		w.Pass(time.Second)
		require.NoError(w, a.Pause(w.Ctx))
		w.Pass(time.Second)
		close(p.release)
		w.Pass(time.Minute)
		quiet(w, c)
		require.NoError(w, a.Resume(w.Ctx))
		w.Pass(time.Minute)
		w.shared(2, c)
	})
}

// A coordinator whose epoch was raised stops its plan, and joins again.
func TestDeposedCoordinatorStopsItsPlan(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		p := newPonderer()
		c := w.node("c", rebalanser.Options{Assignor: p}).run()
		w.Pass(time.Second)
		p.seen(w, 0, 1)
		_, err := w.Session(w.Client()).Set(w.Ctx, path+"/epoch", nil, -1)
		require.NoError(w, err)
		w.Pass(time.Second)
		p.seen(w, 1, 1, 1)
		close(p.release)
		w.Pass(time.Minute)
		w.shared(2, c)
	})
}

// stubborn is an assignor that does not heed a context.
type stubborn struct{ *ponderer }

func (s stubborn) AssignContext() {} // hides the method of the ponderer

func (s stubborn) Assign(ms []assignor.Member, rs []assignor.Resource) [][]string {
	out, _ := s.ponderer.AssignContext(context.Background(), ms, rs)
	return out
}

// Run waits for an assignor that cannot be stopped: it must not run when Run has returned.
func TestRunWaitsForAnAssignorThatHeedsNoContext(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		p := newPonderer()
		c1 := w.node("c1", rebalanser.Options{Assignor: stubborn{p}}).run()
		w.Pass(time.Second)
		w.node("c2", rebalanser.Options{}).run() // the next plan waits for the first one
		w.Pass(time.Second)
		p.seen(w, 0, 1)
		c1.stopIt()
		w.Pass(time.Minute)
		require.Empty(w, c1.done)
		close(p.release)
		require.NoError(w, c1.awaitEnd())
		p.seen(w, 0, 1)
	})
}
