package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// For the servers, a lock handed over within a process is one hold with one guard.
func TestGuardPassesUntilTheServerHasTheLockBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, &lock.Options{LocalHandover: time.Second})
		h := w.lock(m)
		out := w.startLock(w.Ctx, m)
		w.unlock(h)
		next := (<-out).held
		_, err := w.Session(c).Txn(w.Ctx, h.Guard())
		require.NoError(w, err, "handed on")
		w.unlock(next)
		_, err = w.Session(c).Txn(w.Ctx, h.Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
	})
}
