package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// A transaction that finds its owner's znode gone reports why: the owner was released, or
// another client has deleted the znode.
func TestTransactionOfAnOwnerThatHasGoneSaysWhy(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		join := func() *Owner {
			o, err := New(w.Client(), "/locks", nil).Join(w.Ctx)
			require.NoError(w, err)
			return o
		}
		take := func(o *Owner) error {
			a := &attempt{o: o, got: map[string]*Held{}}
			_, err := a.writeLocks(w.Ctx, []entry{{Entry: Entry{Name: "a"}}})
			return err
		}
		released := join()
		require.NoError(w, released.Release(w.Ctx))
		err := take(released)
		require.ErrorIs(w, err, session.ErrReleased)
		require.NotErrorIs(w, err, session.ErrLost)

		deleted := join()
		require.NoError(w, w.Server.Delete(deleted.hold.Path()))
		err = take(deleted)
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrNodeDeleted)
	})
}
