package session

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stalled is the context of a caller who stalls, from a moment on until a channel is
// closed, whenever it looks at it.
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

// The session is lost over the creation, and its caller comes to look at what became of
// it when the session's end is known: that is what it is told then, too, and not that
// something is unknown which nobody need know.
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
