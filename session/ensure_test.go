package session

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stalled is the context of a slow caller: from a moment on, each look at the
// context waits until a channel is closed.
type stalled struct {
	context.Context
	from  *atomic.Bool
	until <-chan struct{}
}

func (c stalled) Err() error {
	if c.from.Load() {
		<-c.until
	}
	return c.Context.Err()
}

// The session is lost during the creation, and the caller looks for the outcome
// when the session's end is already known. The error must be the loss of the
// session, not an unknown outcome, because the outcome is irrelevant.
func TestEnsurePathOfALostSessionSaysSo(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var expired atomic.Bool
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Path != "/a" || expired.Swap(true) {
				return zktest.Action{}
			}
			return zktest.Action{Do: zktest.ExpireAfter}
		})
		err := w.s.EnsurePath(stalled{w.ctx, &expired, w.s.ctx.Done()}, "/a", Persistent, nil)
		require.True(w, expired.Load())
		require.ErrorIs(w, err, ErrLost)
		require.NotErrorIs(w, err, ErrUnknownOutcome)
	})
}
