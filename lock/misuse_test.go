package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
)

func TestDoWithoutAFunctionIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.ErrorIs(w, lock.New(w.Client(), dir, nil).Do(w.Ctx, nil), lock.ErrInvalidArgument)
	})
}
