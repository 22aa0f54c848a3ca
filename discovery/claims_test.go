package discovery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Two registrations of a process have the same data, to the byte. The first has moved
// there, and reads its znode more than once, since its connection breaks. The second,
// whose answer was lost, takes that znode for its own meanwhile, or its own znode,
// depending on the order of the list. In the first case the znode created by the second
// belongs to the first registration: no znode is left without a registration.
func TestRegistrationsWithTheSameDataLeaveNoOrphanedNode(t *testing.T) {
	for number := range int32(8) { // in which order they are listed depends on the names
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			moves := w.register(r, typed("one", discovery.Dynamic))
			w.register(r, instance("other")) // the service's path stays
			i := typed("one", discovery.DynamicSequential)
			first, cuts, made := "", 0, false
			second := make(chan *discovery.Registration, 1)
			w.Server.OnRequest(func(q zktest.Request) zktest.Action {
				switch {
				case q.Op == "exists" && first == "" && strings.HasPrefix(q.Path, dir+"/one0"):
					first = q.Path
					// Waited for below; ends with the world's context at the latest.
					go func() {
						g, _ := r.Register(w.Ctx, i)
						second <- g
					}()
					fallthrough
				case q.Op == "exists" && q.Path == first:
					if cuts++; cuts <= 3 {
						return zktest.Action{Do: zktest.CutBefore}
					}
				case world.Creates(q.Op) && q.Path == dir+"/one" && !made:
					made = true
					return zktest.Action{Do: zktest.DropReplyCut}
				}
				return zktest.Action{}
			})
			require.NoError(w, w.Server.SetSequence(dir, 10+number))
			require.NoError(w, moves.Move(w.Ctx, service, i))
			g := <-second
			w.Pass(time.Second)
			require.NotEqual(w, g.State().Path, moves.State().Path)
			require.Len(w, w.Children(dir), 3, "%v", w.Children(dir))
			w.unregister(g)
			w.unregister(moves)
			require.Equal(w, []string{"other"}, w.Children(dir))
		})
	}
}
