package rebalanser_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// lingerer is a function of Each that works until its context ends, or until
// finished.
type lingerer struct {
	finish chan struct{} // closed when there is nothing to work on any more

	// mu guards the fields below: the ends of the functions' contexts, with
	// their causes, and the number of calls.
	mu    sync.Mutex
	ended []time.Time
	why   []error
	calls int
}

func newLingerer() *lingerer { return &lingerer{finish: make(chan struct{})} }

func (l *lingerer) work(ctx context.Context, _ *rebalanser.Resource) error {
	l.mu.Lock()
	l.calls++
	l.mu.Unlock()
	select {
	case <-l.finish:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.why = append(l.ended, time.Now()), append(l.why, context.Cause(ctx))
	return ctx.Err()
}

// each is a running member with f as the function of Each.
func (w *World) each(o rebalanser.Options, f func(context.Context, *rebalanser.Resource) error) *node {
	w.Helper()
	o.Mode = w.mode
	c := w.Client()
	return (&node{w: w, client: c, group: rebalanser.New(c, path, rebalanser.Each(f), &o)}).run()
}

const grace = 30 * time.Second

// Functions that finish within the grace do not see the end, and their
// resources stay owned until the last function has returned.
func TestFunctionsFinishWithinTheGrace(t *testing.T) {
	inBoth(t, func(w *World) {
		a, l := w.stock(2), newLingerer()
		n := w.each(rebalanser.Options{Grace: grace}, l.work)
		w.Settle()
		began := time.Now()
		n.stopIt()
		w.Pass(grace / 2)
		require.Equal(w, "leaving", n.group.State().Phase)
		require.Empty(w, w.status(a).Unowned)
		close(l.finish)
		require.NoError(w, n.awaitEnd())
		require.Less(w, time.Since(began), grace/2+time.Second)
		require.Empty(w, l.ended)
		require.NoError(w, leftBehind(w.Server))
	})
}

// Contexts of unfinished functions end with the grace, not before; without a
// grace they end at once. A second Run has a new grace.
func TestContextsEndWhenTheGraceIsOver(t *testing.T) {
	for _, length := range []time.Duration{0, grace} {
		inBoth(t, func(w *World) {
			w.stock(2)
			l := newLingerer()
			n := w.each(rebalanser.Options{Grace: length}, l.work)
			for again := range 2 {
				if again > 0 {
					n.run()
				}
				w.Settle()
				began := time.Now()
				n.stop()
				require.Len(w, l.ended, 2)
				for i, at := range l.ended {
					require.Equal(w, length, at.Sub(began))
					require.ErrorIs(w, l.why[i], rebalanser.ErrRevoked)
				}
				l.ended, l.why = nil, nil
			}
		})
	}
}

// A loss ends the grace, and the contexts with it.
func TestLossEndsTheGrace(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		l := newLingerer()
		n := w.each(rebalanser.Options{Grace: grace}, l.work)
		w.Settle()
		n.stopIt()
		w.Pass(grace / 10)
		began := time.Now()
		w.Expire(n.client)
		require.ErrorIs(w, n.awaitEnd(), session.ErrLost)
		require.Less(w, time.Since(began), time.Second)
		require.Len(w, l.ended, 2)
		for _, why := range l.why {
			require.ErrorIs(w, why, session.ErrLost)
		}
	})
}

// A resource that moves to another member has no grace.
func TestGraceIsForTheEndOnly(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		l := newLingerer()
		n := w.each(rebalanser.Options{Grace: grace}, l.work)
		w.Settle()
		other := w.node("other", rebalanser.Options{}).run()
		w.Settle()
		require.Len(w, w.of("other"), 1)
		require.Len(w, l.ended, 1)
		n.stop()
		require.Len(w, l.ended, 2)
		other.stop()
	})
}

// A function that fails during the grace is not called again, and Run does not
// wait for a pending retry.
func TestNothingIsRetriedInTheGrace(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		calls, fail := 0, make(chan struct{})
		n := w.each(rebalanser.Options{Grace: grace, RetryDelay: time.Second}, func(context.Context, *rebalanser.Resource) error {
			calls++
			<-fail
			return errHandler
		})
		w.Settle()
		n.stopIt()
		w.Pass(grace / 2)
		began := time.Now()
		close(fail)
		require.NoError(w, n.awaitEnd())
		require.Less(w, time.Since(began), time.Second)
		require.Equal(w, 1, calls)

		n.run()
		w.Pass(1500 * time.Millisecond) // parked for two seconds
		require.Equal(w, 1, n.group.State().Failing)
		began, calls = time.Now(), 0
		n.stop()
		require.Less(w, time.Since(began), time.Second)
		require.Zero(w, calls)
	})
}

// Without RetryDelay the failure is the error of Run, and the other functions
// keep their grace.
func TestFailureInTheGraceIsToldByRun(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		l := newLingerer()
		fail := make(chan struct{})
		n := w.each(rebalanser.Options{Grace: grace, RestartDelay: time.Second}, func(ctx context.Context, r *rebalanser.Resource) error {
			if r.Name() == "r00" {
				<-fail
				return errHandler
			}
			return l.work(ctx, r)
		})
		w.Settle()
		n.stopIt()
		began := time.Now()
		w.Pass(time.Second)
		close(fail)
		require.ErrorIs(w, n.awaitEnd(), errHandler)
		require.Len(w, l.ended, 1)
		require.Equal(w, grace, l.ended[0].Sub(began))
	})
}

// RevokeTimeout is for functions that ignore their context, and begins after
// the grace.
func TestRevokeTimeoutBeginsAfterTheGrace(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		began, cause := time.Time{}, error(nil)
		var after time.Duration
		n := w.each(rebalanser.Options{Grace: grace, RevokeTimeout: time.Second}, func(_ context.Context, r *rebalanser.Resource) error {
			<-r.Context().Done()
			after, cause = time.Since(began), context.Cause(r.Context())
			return nil
		})
		w.Settle()
		began = time.Now()
		n.stop()
		require.ErrorIs(w, cause, rebalanser.ErrRevokeTimeout)
		require.Equal(w, grace+time.Second, after)
	})
}

// A member that gives everything up after a failure has no grace, even if told
// to leave meanwhile.
func TestFailureLeavesNoGrace(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		l := newLingerer()
		n := w.each(rebalanser.Options{Grace: grace}, func(ctx context.Context, r *rebalanser.Resource) error {
			if r.Name() == "r00" {
				world.Pause(time.Second)
				return errHandler
			}
			err := l.work(ctx, r)
			world.Pause(3 * time.Second)
			return err
		})
		w.Pass(2 * time.Second)
		n.stopIt()
		require.ErrorIs(w, n.awaitEnd(), errHandler)
		require.Len(w, l.ended, 1)
	})
}
