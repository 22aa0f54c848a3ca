package world

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestStepsPreventedByALostSessionAreRepeated(t *testing.T) {
	lost, other := fmt.Errorf("so: %w", session.ErrLost), errors.New("other")
	for _, says := range [][]error{{nil}, {lost, lost, nil}, {fmt.Errorf("so: %w", session.ErrNodeDeleted), other}, {other}} {
		times := 0
		err := RetryLost(t.Context(), func() error { times++; return says[times-1] })
		require.Equal(t, says[len(says)-1], err)
		require.Len(t, says, times)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, RetryLost(over, func() error { return lost }), session.ErrLost, "not indefinitely")
}

func TestClientThatGetsNothingDoneIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		progress(t, 0, func() int { return int(time.Since(begun) / time.Second) })
		require.InDelta(t, time.Second, time.Since(begun), float64(time.Second/10))

		failed := &witness{TB: t}
		func() {
			defer func() { _ = recover() }()
			progress(failed, 0, func() int { return 7 })
		}()
		require.True(t, failed.failed)
	})
}
