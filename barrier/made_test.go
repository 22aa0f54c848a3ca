package barrier_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
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

// The session is lost during the creation of the path, and the caller looks for
// the outcome when the session's end is known: the call continues in the next
// session.
func TestSessionThatIsLostOverThePathIsMadeGood(t *testing.T) {
	for _, inTree := range []bool{true, false} {
		inWorld(t, nil, func(w *World) {
			require.NoError(w, w.Server.Create("/tree", nil))
			c := w.Client()
			s := w.Session(c)
			var expired atomic.Bool
			w.Server.OnRequest(func(r zktest.Request) zktest.Action {
				if r.Path != "/tree/b" || r.Op != "create" && r.Op != "create2" || expired.Swap(true) {
					return zktest.Action{}
				}
				return zktest.Action{Do: zktest.ExpireAfter}
			})
			b := barrier.New(c, "/tree/b", 1, &barrier.Options{InTree: inTree})
			_, err := b.Await(stalled{w.Ctx, &expired, s.Context().Done()})
			require.True(w, expired.Load())
			require.NoError(w, err)
		})
	}
}
