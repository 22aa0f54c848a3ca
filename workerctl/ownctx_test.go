package workerctl_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The worker's own context, which ends with the leave, can be passed to Leave.
func TestWorkerLeavesWithItsOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 2)
		crew := w.crew(2)
		for _, k := range crew {
			require.NoError(w, k.Leave(k.Context()))
		}
		w.removed()
	})
}
