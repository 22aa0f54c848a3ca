package rebalanser

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// All are tried, and the first failure is returned; the end of the context is
// reported by its cause.
func TestGivingBackTellsTheFirstFailure(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	tried := 0
	gives := func(errs ...error) (out []func(context.Context) error) {
		for _, err := range errs {
			out = append(out, func(context.Context) error { tried++; return err })
		}
		return out
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errNoAnswer)
	for _, tc := range []struct {
		ctx  context.Context
		errs []error
		want error
	}{
		{t.Context(), nil, nil},
		{t.Context(), []error{nil, nil}, nil},
		{t.Context(), []error{first, nil}, first},
		{t.Context(), []error{nil, first, second}, first},
		{t.Context(), []error{context.Canceled}, context.Canceled},
		{ended, []error{context.Canceled, nil}, session.ErrUnknownOutcome},
		{ended, []error{errors.Join(context.Canceled, session.ErrLost)}, session.ErrLost},
	} {
		tried = 0
		err := giveAll(tc.ctx, gives(tc.errs...))
		require.ErrorIs(t, err, tc.want)
		require.Equal(t, tc.want != nil, isKept(err))
		require.Equal(t, len(tc.errs), tried)
	}
	require.ErrorIs(t, unlessGone(t.Context(), first, &keptError{second}), first)
	require.NotErrorIs(t, unlessGone(t.Context(), first, &keptError{second}), second, "Run goes on")
	require.ErrorIs(t, unlessGone(ended, first, &keptError{second}), second)
	require.Equal(t, first, unlessGone(ended, first, nil))
}
