package world

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// late is a context whose end does not wake waiting goroutines, as on a machine
// that stalls.
type late struct {
	context.Context
	end time.Time
}

func (l late) Err() error {
	if time.Now().Before(l.end) {
		return nil
	}
	return context.Canceled
}

func TestHoldIsLastSeenBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.GreaterOrEqual(t, LastSeen(t.Context(), began, time.Second).Sub(began), time.Second)

		began = time.Now()
		held, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.InDelta(t, 49*time.Millisecond, LastSeen(held, began, time.Second).Sub(began), float64(time.Millisecond))

		began = time.Now()
		end := began.Add(70 * time.Millisecond)
		seen := LastSeen(late{t.Context(), end}, began, time.Second)
		require.True(t, seen.Before(end))
		require.InDelta(t, 69*time.Millisecond, seen.Sub(began), float64(time.Millisecond))

		over, stop := context.WithCancel(t.Context())
		stop()
		require.Equal(t, began, LastSeen(over, began, time.Second))
	})
}
