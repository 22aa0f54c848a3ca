package world

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// An operation that makes no request once a fault is set is not tested by it.
func TestAnOperationThatEvadesItsFaultsExceedsTheBound(t *testing.T) {
	calls := 0
	tr := Trial{Name: "evading", Op: func(ctx context.Context, p *Party) error {
		if calls++; calls > 1 {
			return nil
		}
		s, err := p.Tested.Session(ctx)
		if err != nil {
			return err
		}
		_, _, err = s.Get(ctx, "/")
		return err
	}}
	res := matrix.Explore(t, tr.Case())
	require.NotZero(t, res.Cases)
	require.Len(t, res.Failures, 1)
	require.ErrorIs(t, res.Failures[0], matrix.ErrMissed)
}

func TestTruthIsWhatWasSaidAndDone(t *testing.T) {
	unknown := fmt.Errorf("so: %w", session.ErrUnknownOutcome)
	for _, said := range []error{nil, context.Canceled, unknown} {
		require.Equal(t, said != nil, CheckOutcome(said, 0) == nil, "%v, not made", said)
		require.Equal(t, said == nil || errors.Is(said, session.ErrUnknownOutcome), CheckOutcome(said, 1) == nil, "%v, made", said)
		require.Error(t, CheckOutcome(said, 2), "%v, made twice", said)
	}
}
