package locktable_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

// joinMember makes an owner of a znode created by the test.
func (w *World) joinMember(c *session.Client, name string) (*locktable.Owner, *session.Hold) {
	w.Helper()
	s := w.Session(c)
	require.NoError(w, s.EnsurePath(w.Ctx, "/members", session.Persistent, nil))
	require.NoError(w, s.EnsurePath(w.Ctx, dir, session.Persistent, nil))
	node, err := s.Create(w.Ctx, "/members/"+name, nil, session.Ephemeral, nil)
	require.NoError(w, err)
	hold, err := s.Hold(w.Ctx, node.Path, nil)
	require.NoError(w, err)
	owner, err := locktable.New(c, dir, &locktable.Options{
		Owners: "/members", OwnerName: func(name string) bool { return strings.HasPrefix(name, "member-") },
	}).OwnedBy(hold)
	require.NoError(w, err)
	return owner, hold
}

// The locks of an owner made by another recipe go with its znode. Release leaves
// the znode alone.
func TestOwnerOfAnotherRecipesZnode(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, hold := w.joinMember(w.Client(), "member-1")
		two, _ := w.joinMember(w.Client(), "member-2")
		held := w.try(one, "a", "b")
		require.Len(w, held, 2)
		require.Empty(w, w.try(two, "a"))
		require.NoError(w, one.Release(w.Ctx))
		require.ErrorIs(w, one.Release(w.Ctx), locktable.ErrNotHeld)
		require.NoError(w, hold.Err())
		require.ElementsMatch(w, []string{"member-1", "member-2"}, w.Children("/members"))
		require.Len(w, w.try(two, "a", "b"), 2)

		three, third := w.joinMember(w.Client(), "member-3")
		held = w.try(three, "c")
		require.NoError(w, third.Session().Delete(w.Ctx, third.Path(), -1))
		w.Settle()
		w.requireLost(held[0], session.ErrNodeDeleted)
		require.Len(w, w.try(two, "c"), 1)
		require.ErrorIs(w, three.Release(w.Ctx), session.ErrNodeDeleted)

		four, fourth := w.joinMember(w.Client(), "member-4")
		held = w.try(four, "d")
		fourth.End(nil)
		require.ErrorIs(w, context.Cause(held[0].Context()), session.ErrReleased)
	})
}
