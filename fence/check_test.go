package fence_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
)

// at is a token of epoch 1.
func at(number int64) fence.Token { return fence.Token{Epoch: 1, Number: number} }

func TestAReceiverAcceptsTokensThatAreNotLower(t *testing.T) {
	require.NoError(t, fence.Check("/r", at(1), fence.Token{}))
	require.NoError(t, fence.Check("/r", at(5), at(5)))
	require.NoError(t, fence.Check("/r", at(6), at(5)))
	require.NoError(t, fence.Check("/r", fence.Token{Epoch: 2, Number: 1}, at(5)))
}

func TestAReceiverRefusesALowerTokenWithBothTokens(t *testing.T) {
	for _, high := range []fence.Token{at(6), {Epoch: 2, Number: 1}} {
		err := fence.Check("/r", at(5), high)
		require.ErrorIs(t, err, fence.ErrStale)
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, &fence.StaleError{Resource: "/r", Token: at(5), Highest: high}, stale)
		require.ErrorContains(t, err, "fence: write /r: stale fencing token: token 1-5 is lower than "+high.String())
		if high.Epoch > 1 {
			require.ErrorContains(t, err, "advance the ensemble's epoch")
		} else {
			require.NotContains(t, err.Error(), "advance the ensemble's epoch")
		}
	}
}

func TestACheckNeedsAResourceAndAValidToken(t *testing.T) {
	require.ErrorIs(t, fence.Check("", at(1), fence.Token{}), fence.ErrInvalidArgument)
	for _, token := range []fence.Token{{}, {Epoch: 1}, {Number: 1}} {
		err := fence.Check("/r", token, fence.Token{})
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
		require.NotErrorIs(t, err, fence.ErrStale)
	}
}
