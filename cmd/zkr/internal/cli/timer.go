package cli

import (
	"context"
	"time"
)

// NewTimer is a channel that fires after d, and the function that stops the timer.
func NewTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// SleepContext waits a while.
func SleepContext(ctx context.Context, d time.Duration) error {
	over, stop := NewTimer(d)
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
