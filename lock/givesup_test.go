package lock_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/zkrecipes/zkrecipes/lock"
)

// A goroutine whose context ends in the instant of a hand-over holds nothing, and
// must give the lock back: no other goroutine in the process wants the lock.
func TestLockHandedToAGoroutineThatGivesUpGoesBackToTheServer(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m, other := lock.New(w.Client(), dir, nil), lock.New(w.Client(), dir, nil)
		for range 50 {
			h := w.lock(m)
			ctx, cancel := context.WithCancel(w.Ctx)
			got := make(chan *lock.Held, 1)
			// Waited for below; ends with the lock, or with ctx.
			go func() {
				h, _ := m.Lock(ctx)
				got <- h
			}()
			synctest.Wait() // in line
			cancel()
			w.unlock(h)
			if next := <-got; next != nil {
				w.unlock(next)
			}
			w.unlock(w.lock(other)) // before any session ends
		}
	})
}

func TestPathIsThatOfTheLock(t *testing.T) {
	for _, path := range []string{dir, "relative"} { // also of an invalid path
		if got := lock.New(nil, path, nil).Path(); got != path {
			t.Errorf("Path is %q, want %q", got, path)
		}
	}
}
