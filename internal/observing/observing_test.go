package observing_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Without an observer, nothing is made for events.
func TestEventsCostNothingWithoutAnObserver(t *testing.T) {
	var c *session.Client
	held := observing.Znode{}
	err := errors.New("refused")
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		w := observing.BeginWait(ctx, c, observe.Lock, "/l")
		w.Queued("/l/1", 3)
		w.End(err)
		w.Passed(1, 2)
		h := w.Granted(&held, false)
		h.HandedOver()
		h.Ending()
		h.End(nil)
	}))
}
