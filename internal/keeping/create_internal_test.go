package keeping

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CH53: two registrations with the same data lose the replies to their creations. While
// the first one reads a list that has its own node only, the other one takes this node,
// and so leaves the first one the node that the list does not have.
func TestNodeThatATwinLeavesIsFoundBehindTheList_CH53(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		want := &Entry{Dir: "/s", Name: "one", Data: []byte("a"), Mode: session.EphemeralSequential}
		require.NoError(w, w.Server.Create(want.Dir, nil))
		create := func() session.Node {
			node, err := s.Create(w.Ctx, want.Path(), want.Data, want.Mode, nil)
			require.NoError(w, err)
			return node
		}
		first, second := create(), make(chan session.Node, 1)
		owned, twin := NewOwnership(), &Registrant{}
		w.Server.Delay(zktest.Link{}, zktest.ToClient, 10*time.Millisecond)
		asked := false
		remove := w.Server.OnRequest(func(q zktest.Request) zktest.Action {
			if q.Op == "getData" && q.Path == first.Path && !asked {
				asked = true
				require.True(w, owned.own(twin, first.Path, first.Stat.Czxid))
				// Waited for below; ends with the reply. It is sent before the delayed reply arrives.
				go func() { second <- create() }()
			}
			return zktest.Action{}
		})
		defer remove()
		k := &registrar{s: s, k: &Registrant{cfg: Config{Owned: owned}}}
		found, err := k.findMade(w.Ctx, want, s.ID())
		require.NoError(w, err)
		require.NotNil(w, found)
		require.Equal(w, (<-second).Path, found.path)
		found, err = k.findMade(w.Ctx, &Entry{Dir: "/s", Name: "one", Data: []byte("b"), Mode: session.EphemeralSequential}, s.ID())
		require.NoError(w, err)
		require.Nil(w, found)
	})
}
