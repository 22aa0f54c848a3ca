package optimistic_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestDeleteBelowLeavesThePathAndWhatIsToStay(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		for _, path := range []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/e", "/a/keep", "/other"} {
			require.NoError(w, w.Server.Create(path, nil))
		}
		require.NoError(w, optimistic.DeleteBelow(w.Ctx, s, "/a", "keep"))
		require.Equal(w, []string{"keep"}, w.Children("/a"))
		require.NoError(w, optimistic.DeleteBelow(w.Ctx, s, "/none"))
		require.ErrorIs(w, optimistic.DeleteAll(w.Ctx, s, "/none", "/other", "/a"), session.ErrNotEmpty)
		_, err := w.Server.Get("/other")
		require.Error(w, err, "deleted")
		require.NoError(w, optimistic.DeleteAll(w.Ctx, s, "/a/keep", "/a/none"))
		require.Empty(w, w.Children("/a"))
	})
}

func TestZnodesThatMayNotBeReadAreLeftOut(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := w.Session(w.Client())
		require.NoError(w, w.Server.Create("/a", []byte("x")))
		_, err := s.Create(w.Ctx, "/hidden", nil, session.Persistent, &session.CreateOptions{
			ACL: []session.ACL{{Perms: session.PermDelete, Scheme: "world", ID: "anyone"}},
		})
		require.NoError(w, err)
		r := &optimistic.Reading{Ctx: w.Ctx, Session: s}
		seen, hidden := r.GetReadable("/hidden", "/a", "/none")
		require.NoError(w, r.Err)
		require.Len(w, hidden, 1)
		require.ErrorIs(w, hidden[0], session.ErrNoAuth)
		require.Equal(w, []bool{false, true, false}, []bool{seen[0].Exists, seen[1].Exists, seen[2].Exists})
		require.Equal(w, "x", string(seen[1].Data))
		require.NoError(w, optimistic.DeleteAll(w.Ctx, s, "/hidden"))
	})
}
