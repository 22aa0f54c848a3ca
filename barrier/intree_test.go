package barrier_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// A tree deleted by others is not created again by parties still waiting in the
// tree.
func TestBarrierInATreeMakesNothingAboveItsPath(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		in := func(id string) *barrier.Barrier {
			return barrier.New(c, "/tree/b", 2, &barrier.Options{ID: id, InTree: true})
		}
		_, err := in("a").Await(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoNode)
		require.Empty(w, w.Children("/tree"))
		_, err = w.Server.Get("/tree")
		require.Error(w, err, "nothing was made")

		require.NoError(w, w.Server.Create("/tree", nil))
		a, b := w.await(w.Ctx, in("a")), w.await(w.Ctx, in("b"))
		w.round(a, 1)
		w.round(b, 1)

		// A party waits while the tree is deleted.
		a = w.await(w.Ctx, in("a"))
		require.NoError(w, w.Server.DeleteAll("/tree"))
		require.Error(w, (<-a).err)
		w.Settle()
		_, err = w.Server.Get("/tree")
		require.Error(w, err, "the tree was created again")
	})
}

func TestBarrierInATreeUnderEveryFault(t *testing.T) {
	in := &barrier.Options{InTree: true}
	world.Trial{
		Name: "Await in a tree", Paths: []string{"/tree/b"},
		Op: func(ctx context.Context, p *world.Party) error {
			s, err := p.Other.Session(context.Background())
			if err != nil {
				return err
			}
			if err := s.EnsurePath(context.Background(), "/tree", session.Persistent, nil); err != nil {
				return err
			}
			_, err = barrier.New(p.Tested, "/tree/b", 1, in).Await(ctx)
			return err
		},
		Excuses: []error{session.ErrUnknownOutcome},
		Next: func(ctx context.Context, p *world.Party) error {
			_, err := barrier.New(p.Other, "/tree/b", 1, in).Await(ctx)
			return err
		},
	}.Run(t)
}
