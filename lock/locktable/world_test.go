package locktable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dir is the table of most tests.
const dir = "/locks/table"

// World is a world with tables.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// join makes a new owner; o may be nil.
func (w *World) join(c *session.Client, o *locktable.Options) *locktable.Owner {
	w.Helper()
	owner, err := locktable.New(c, dir, o).Join(w.Ctx)
	require.NoError(w, err)
	return owner
}

// try takes the free locks among names.
func (w *World) try(o *locktable.Owner, names ...string) []*locktable.Held {
	w.Helper()
	held, err := o.TryLock(w.Ctx, names...)
	require.NoError(w, err)
	return held
}

// requireAllFree requires all locks of the table to be free, and no owner to be left.
func (w *World) requireAllFree(c *session.Client) {
	w.Helper()
	entries, err := locktable.New(c, dir, nil).Entries(w.Ctx)
	require.NoError(w, err)
	for _, e := range entries {
		require.Empty(w, e.Owner, e.Name)
		require.NoError(w, e.Err)
	}
	require.Empty(w, w.Children(dir+".owners"))
}

// lockNames returns n names of locks.
func lockNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("lock-%04d", i)
	}
	return out
}

func namesOf(locks []*locktable.Held) []string {
	out := []string{}
	for _, h := range locks {
		out = append(out, h.Name())
	}
	return out
}

// begun is the outcome of a call that runs concurrently with the test.
type begun struct {
	held []*locktable.Held
	err  error
}

// startLock starts a Lock, and returns once Lock waits or has ended.
func (w *World) startLock(ctx context.Context, o *locktable.Owner, names ...string) <-chan begun {
	out := make(chan begun, 1)
	// The bubble waits for the goroutine, which ends with ctx at the latest.
	go func() {
		held, err := o.Lock(ctx, names...)
		out <- begun{held, err}
	}()
	w.Settle()
	return out
}

// requirePending requires that the call of out still waits.
func (w *World) requirePending(out <-chan begun) {
	w.Helper()
	select {
	case b := <-out:
		w.Fatalf("Lock returned (%v) when it should wait", b.err)
	default:
	}
}

// requireLost requires a lock to be lost for a reason.
func (w *World) requireLost(h *locktable.Held, reason error) {
	w.Helper()
	require.Error(w, h.Context().Err())
	require.ErrorIs(w, context.Cause(h.Context()), session.ErrLost)
	require.ErrorIs(w, context.Cause(h.Context()), reason)
}

// withinMinute returns a context that ends after a virtual minute.
func (w *World) withinMinute() context.Context { return w.Within(time.Minute) }
