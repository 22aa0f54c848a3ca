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

// An operation without requests under a fault is not tested under this fault.
func TestAnOperationThatEvadesItsFaultsExceedsTheBound(t *testing.T) {
	tr := Trial{Name: "evading", Op: func(ctx context.Context, p *Party) error {
		s, err := p.Tested.Session(ctx)
		if err != nil {
			return err
		}
		_, _, err = s.Get(ctx, "/")
		return err
	}}
	c := tr.Case()
	op := c.Op
	c.Op = func(ctx context.Context, e *matrix.Env) error {
		if e.Fault != "" {
			return nil
		}
		return op(ctx, e)
	}
	res := matrix.Explore(t, c)
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
