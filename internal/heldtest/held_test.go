package heldtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// kinds are all kinds, by name.
func kinds() map[string]kind {
	all := locks()
	maps.Copy(all, places())
	maps.Copy(all, assignments())
	return all
}

// each runs body for every kind.
func each(t *testing.T, body func(t *testing.T, k kind)) {
	all := kinds()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) { body(t, all[name]) })
	}
}

// taken takes what k is, and checks that it is held.
func (e *env) taken(take func() session.Held) session.Held {
	e.Helper()
	h := take()
	require.NoError(e, h.Context().Err())
	require.Positive(e, h.Token())
	require.True(e, h.Guard().IsCheck())
	require.NoError(e, e.write(h.Guard()))
	require.False(e, e.isGone(e.znode(h)))
	return h
}

// released gives h back, and checks that it is not held any more.
func (e *env) released(k kind, h session.Held) {
	e.Helper()
	ctx, guard, znode := h.Context(), h.Guard(), e.znode(h)
	require.NoError(e, h.Release(e.ctx))
	require.ErrorIs(e, e.awaitEnd(ctx), session.ErrReleased)
	require.ErrorIs(e, context.Cause(h.Context()), session.ErrReleased)
	e.refused(guard)
	e.refused(h.Guard())
	require.Equal(e, !k.stays, e.isGone(znode))
	if err := h.Release(e.ctx); k.again == nil {
		require.NoError(e, err)
	} else {
		require.ErrorIs(e, err, k.again)
	}
}

func TestReleaseEndsEverythingThatIsHeld(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		inWorld(t, func(_ *world.World, e *env) {
			take := k.setup(e)
			var last int64
			for range 3 {
				h := e.taken(take)
				require.Greater(e, h.Token(), last, "the token grows with every grant")
				last = h.Token()
				e.released(k, h)
			}
		})
	})
}

// lost requires that h was lost, and that its former guard fails.
func (e *env) lost(k kind, h session.Held, former context.Context, guard session.Op) {
	e.Helper()
	cause := e.awaitEnd(former)
	if k.revocable && errors.Is(cause, rebalanser.ErrRevoked) {
		e.refused(guard)
		return
	}
	require.ErrorIs(e, cause, session.ErrLost)
	require.NotErrorIs(e, cause, session.ErrReleased)
	e.refused(guard)
	if err := h.Release(e.ctx); k.kept {
		require.NoError(e, err)
	} else {
		require.ErrorIs(e, err, session.ErrLost)
		require.ErrorIs(e, h.Release(e.ctx), session.ErrLost, "a second call says so, too")
	}
	e.refused(guard)
	e.refused(h.Guard())
}

func TestLostSessionEndsEverythingThatIsHeld(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		inWorld(t, func(w *world.World, e *env) {
			take := k.setup(e)
			h := e.taken(take)
			ctx, guard, token := h.Context(), h.Guard(), h.Token()
			w.Expire(e.client)
			if k.noSession {
				w.Pass(time.Minute)
				require.NoError(e, ctx.Err())
				require.NoError(e, e.write(guard))
				return
			}
			e.lost(k, h, ctx, guard)
			require.Greater(e, e.taken(take).Token(), token)
		})
	})
}

func TestDeletedZnodeEndsEverythingThatIsHeld(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		inWorld(t, func(_ *world.World, e *env) {
			h := e.taken(k.setup(e))
			ctx, guard := h.Context(), h.Guard()
			e.remove(e.znode(h))
			e.lost(k, h, ctx, guard)
		})
	})
}

// The context ends before the servers can grant the same to another client: while its
// znode exists.
func TestEverythingThatIsHeldEndsBeforeItsZnodeGoes(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		if k.noSession {
			return
		}
		inWorld(t, func(w *world.World, e *env) {
			h := e.taken(k.setup(e))
			ctx, guard, znode := h.Context(), h.Guard(), e.znode(h)
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			require.ErrorIs(e, e.awaitEnd(ctx), session.ErrLost)
			require.False(e, e.isGone(znode))
			w.Server.Heal()
			w.Pass(time.Minute)
			e.refused(guard)
		})
	})
}
