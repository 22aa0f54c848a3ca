package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A worker without a task does not wait when its context ends, not even for
// unreachable servers, with any session timeout.
func TestIdleWorkerEndsWithItsContext(t *testing.T) {
	for _, timeout := range []time.Duration{10 * time.Second, 40 * time.Second} {
		inWorld(t, nil, func(w *World) {
			c := w.ClientWith(session.Options{Timeout: timeout})
			r := w.beside(dispatch.NewWorker(c, path, takes(time.Second), nil).Run)
			w.Pass(time.Second)
			require.NoError(w, w.Server.Stop(1))
			w.Pass(100 * time.Millisecond)
			began := time.Now()
			require.ErrorIs(w, r.end(), session.ErrUnreachable)
			require.Zero(w, time.Since(began), "T = %v", timeout)
			require.NoError(w, w.Server.Restart(1))
		})
	}
}

// A connection lost silently is given one second.
func TestIdleWorkerEndsSoonWhenNothingIsAnswered(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		r := w.worker(takes(time.Second), nil)
		w.Pass(time.Second)
		w.Server.BlackHole(linkOf(1), zktest.Both)
		began := time.Now()
		require.ErrorIs(w, r.end(), session.ErrUnreachable)
		require.LessOrEqual(w, time.Since(began), time.Second)
		w.Server.Heal()
		w.Pass(time.Minute)
		require.Empty(w, w.Children(path+"/alive"))
	})
}

// A worker with a task gives the task back first. Run ends at the latest when
// the handler has returned and the session is given up.
func TestWorkerWithATaskEndsWithItsSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		c := w.Client()
		r := w.beside(dispatch.NewWorker(c, path, takes(time.Hour), nil).Run)
		w.submit(w.queue(), dispatch.Task{})
		w.Pass(time.Second)
		timeout := w.Session(c).Timeout()
		require.NoError(w, w.Server.Stop(1))
		began := time.Now()
		require.Error(w, r.end())
		require.LessOrEqual(w, time.Since(began), timeout)
		require.NoError(w, w.Server.Restart(1))
	})
}
