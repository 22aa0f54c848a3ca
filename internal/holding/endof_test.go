package holding_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/holding"
)

func TestErrorThatSaysMoreThanTheEndOfTheContextIsNotTheEnd(t *testing.T) {
	stopped := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	require.False(t, holding.IsContextEnd(ctx, context.Canceled), "it goes on")
	cancel(fmt.Errorf("signal: %w", stopped))
	for _, c := range []struct {
		err error
		end bool
	}{
		{nil, false},
		{context.Canceled, true},
		{context.Cause(ctx), true},
		{stopped, true},
		{fmt.Errorf("query: %w", context.Canceled), true},
		{fmt.Errorf("query: %w: %w", context.Canceled, stopped), true},
		{errors.Join(context.Canceled, stopped), true},
		{context.DeadlineExceeded, false},
		{errBroken, false},
		{errors.Join(context.Canceled, errBroken), false},
		{fmt.Errorf("query: %w: %w", errBroken, context.Canceled), false},
	} {
		require.Equal(t, c.end, holding.IsContextEnd(ctx, c.err), "%v", c.err)
	}
}

func TestEndOfAContextHasItsErrorAndItsCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	require.NoError(t, holding.EndOf(ctx))
	cancel(errBroken)
	require.ErrorIs(t, holding.EndOf(ctx), errBroken)
	require.ErrorIs(t, holding.EndOf(ctx), context.Canceled)
	plain, cancel := context.WithCancelCause(t.Context())
	cancel(nil)
	require.Equal(t, context.Canceled, holding.EndOf(plain))
}
