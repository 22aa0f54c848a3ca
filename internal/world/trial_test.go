package world

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestTruthIsWhatWasSaidAndDone(t *testing.T) {
	unknown := fmt.Errorf("so: %w", session.ErrUnknownOutcome)
	for _, said := range []error{nil, context.Canceled, unknown} {
		require.Equal(t, said != nil, Truth(said, 0) == nil, "%v, not made", said)
		require.Equal(t, said == nil || errors.Is(said, session.ErrUnknownOutcome), Truth(said, 1) == nil, "%v, made", said)
		require.Error(t, Truth(said, 2), "%v, made twice", said)
	}
}
