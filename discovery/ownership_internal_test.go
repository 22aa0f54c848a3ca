package discovery

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Instances come, move, lose their znode or their session, and go: the process remembers
// none of their znodes afterwards.
func TestOwnershipForgetsZnodesThatAreGone(t *testing.T) {
	for _, typ := range []Type{Dynamic, DynamicSequential, Static} {
		for _, lost := range []bool{false, true} { // the reply to the move
			for name, interrupt := range map[string]func(w *world.World, r *Registry, g *Registration){
				"nothing": func(*world.World, *Registry, *Registration) {},
				"deleted": func(w *world.World, _ *Registry, g *Registration) {
					require.NoError(w, w.Server.Delete(g.State().Path))
				},
				"expired": func(w *world.World, r *Registry, _ *Registration) { w.Expire(r.client) },
				"given up": func(w *world.World, _ *Registry, _ *Registration) {
					require.NoError(w, w.Server.Stop(1))
					w.Pass(15 * time.Second)
					require.NoError(w, w.Server.Restart(1))
				},
				"deleted, and unregistered at once": func(w *world.World, _ *Registry, g *Registration) {
					w.Server.CutAll()
					require.NoError(w, w.Server.Delete(g.State().Path))
					require.NoError(w, g.Unregister(w.Ctx))
				},
			} {
				t.Run(fmt.Sprint(typ, lost, name), func(t *testing.T) {
					world.In(t, nil, func(w *world.World) {
						r := NewRegistry(w.Client(), "/services", nil)
						g, err := r.Register(w.Ctx, Instance{Service: "web", ID: "one", Address: "h", Type: typ})
						require.NoError(w, err)
						require.NoError(w, w.Server.Create("/services/api", nil))
						if lost {
							moves := func(q zktest.Request) bool { return q.Op == "multi" && !q.OnlyChecks }
							w.Server.FailNth(moves, 1, zktest.Action{Do: zktest.DropReplyCut})
						}
						require.NoError(w, g.Move(w.Ctx, "api", g.Instance()))
						require.Equal(w, 1, r.owned.Len())
						interrupt(w, r, g)
						w.Pass(time.Minute)
						_ = g.Unregister(w.Ctx)
						require.Zero(w, r.owned.Len())
					})
				})
			}
		}
	}
}
