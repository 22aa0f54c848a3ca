package rwlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

func TestDoWithoutAFunctionIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m, before := rwlock.New(c, dir, nil), w.Requests(c)
		require.ErrorIs(w, m.Do(w.Ctx, nil), rwlock.ErrInvalidArgument)
		require.ErrorIs(w, m.RDo(w.Ctx, nil), rwlock.ErrInvalidArgument)
		require.Equal(w, before, w.Requests(c), "nothing was sent")
	})
}
