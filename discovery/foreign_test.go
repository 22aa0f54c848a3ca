package discovery_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// Nothing tells a registration what another client has written: an update that changes
// nothing is compared with the server's data.
func TestStrangersDataInOurNodeIsReplacedByTheSameUpdateAgain(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				r := registry(w.Client())
				g := w.register(r, typed("one", typ))
				at := g.State()
				ours := w.node(at.Path).Data
				for _, again := range []func() error{
					func() error { return g.Update(w.Ctx, g.Instance()) },
					func() error { return g.Move(w.Ctx, service, g.Instance()) },
				} {
					require.NoError(w, w.Server.Set(at.Path, []byte("what?")))
					require.NoError(w, again())
					require.Equal(w, string(ours), string(w.node(at.Path).Data))
				}
				w.Settle()
				require.Equal(w, at, g.State())
				was := w.node(at.Path)
				require.NoError(w, g.Update(w.Ctx, g.Instance()))
				require.Equal(w, was, w.node(at.Path), "nothing is written without a change")
				w.unregister(g)
			})
		})
	}
}

func TestStrangersDataInAMemberIsReplacedByTheSameUpdateAgain(t *testing.T) {
	for layout, data := range map[discovery.Layout][]byte{discovery.Curator: []byte("a"), discovery.Kazoo: nil, discovery.KazooShallow: nil} {
		inWorld(t, nil, func(w *World) {
			m, err := discovery.NewGroup(w.Client(), dir, &discovery.Options{Layout: layout}).Join(w.Ctx, "one", data)
			require.NoError(w, err)
			at := m.State()
			ours := w.node(at.Path).Data
			require.NoError(w, w.Server.Set(at.Path, []byte("what?")))
			require.NoError(w, m.Update(w.Ctx, data))
			require.Equal(w, string(ours), string(w.node(at.Path).Data))
			require.Equal(w, at, m.State())
			require.NoError(w, m.Leave(w.Ctx))
		})
	}
}
