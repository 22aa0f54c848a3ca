package receiver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

func TestOnlyANilReceiverIsReplaced(t *testing.T) {
	n := 1
	require.Same(t, &n, receiver.OrZero(&n))
	require.Zero(t, *receiver.OrZero[int](nil))
}
