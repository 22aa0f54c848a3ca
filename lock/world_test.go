package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dir is where most tests have their lock.
const dir = "/locks/a"

// World is a world with locks.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// lock locks, and must succeed within a virtual minute.
func (w *World) lock(m *lock.Mutex) *lock.Held {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	h, err := m.Lock(ctx)
	require.NoError(w, err)
	return h
}

// unlock unlocks, and must succeed.
func (w *World) unlock(h *lock.Held) { w.Helper(); require.NoError(w, h.Unlock(w.Ctx)) }

// acquire takes n permits within a virtual minute.
func (w *World) acquire(s *lock.Semaphore, n int) *lock.Permits {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	p, err := s.Acquire(ctx, n)
	require.NoError(w, err)
	return p
}

// won is the outcome of a Lock that runs concurrently with the test.
type won struct {
	held *lock.Held
	err  error
	at   time.Time
}

// startLock starts m.Lock, and returns once Lock waits or has ended.
func (w *World) startLock(ctx context.Context, m *lock.Mutex) <-chan won {
	out := make(chan won, 1)
	// The bubble waits for the goroutine, which ends with ctx at the latest.
	go func() {
		h, err := m.Lock(ctx)
		out <- won{h, err, time.Now()}
	}()
	w.Settle()
	return out
}

// requirePending requires that the Lock of out still waits.
func (w *World) requirePending(out <-chan won) {
	w.Helper()
	select {
	case g := <-out:
		w.Fatalf("Lock returned (%v) when it should wait", g.err)
	default:
	}
}

// parentOf is the path above path.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }
