package heldtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

func TestEverythingThatIsHeldOnApache(t *testing.T) {
	cluster := apache.Require(t, nil)
	all := kinds()
	for name, k := range all {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			at := cluster.Connect() + "/held-" + session.NewID()
			first := world.Connect(t, at, session.Options{})
			s, err := first.Session(ctx)
			require.NoError(t, err)
			require.NoError(t, s.EnsurePath(ctx, "/", session.Persistent, nil))
			e := newEnv(t, ctx, func() *session.Client { return world.Connect(t, at, session.Options{}) })
			take := k.setup(e)
			h := e.taken(take)
			token := h.Token()
			e.released(k, h)
			h = e.taken(take)
			require.Greater(t, h.Token(), token)
			former, guard := h.Context(), h.Guard()
			e.remove(e.znode(h))
			e.lost(k, h, former, guard)
		})
	}
}
