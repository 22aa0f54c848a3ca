package discovery_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// CH48, P24: thousands of registrations that came, changed and went leave no watch
// on the server, no goroutine, and no memory in the client.
func TestThousandsOfRegistrationsLeaveNothing_CH48_P24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r, group := registry(c), discovery.NewGroup(c, "/members", nil)
		w.CyclesLeaveNothing(3000, func(n int) {
			if n%4 == 3 {
				m, err := group.Join(w.Ctx, "one", nil)
				require.NoError(w, err)
				_, err = group.Join(w.Ctx, "one", nil)
				require.ErrorIs(w, err, discovery.ErrConflict)
				require.NoError(w, m.Leave(w.Ctx))
				return
			}
			g, err := r.Register(w.Ctx, typed("one", types[n%len(types)]))
			require.NoError(w, err)
			i := g.Instance()
			i.Port = n % 1000
			require.NoError(w, g.Update(w.Ctx, i))
			require.NoError(w, g.Move(w.Ctx, "api", i))
			require.NoError(w, g.Unregister(w.Ctx))
		})
	})
}
