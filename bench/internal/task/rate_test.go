package task

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheMedianIsInTheMiddle(t *testing.T) {
	require.Zero(t, Median(nil))
	require.InDelta(t, 7, Median([]float64{7}), 0)
	require.InDelta(t, 2, Median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 2.5, Median([]float64{9, 1, 3, 2}), 0)
	values := []float64{3, 1, 2}
	Median(values)
	require.Equal(t, []float64{3, 1, 2}, values, "the argument is unchanged")
}

// Work that takes 10 ms makes 100 operations a second of each worker,
// independently of the warm-up, which is much slower here.
func TestTheRateIsThatOfTheTimeAfterTheWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		work := func(ctx context.Context, _ int) error {
			d := 10 * time.Millisecond
			if time.Since(began) < 2*time.Second {
				d = 500 * time.Millisecond
			}
			return Pause(ctx, d)
		}
		rate, err := Rate(t.Context(), Task{WarmMS: 2000, TimeMS: 4000}, slices.Repeat([]Work{work}, 3))
		require.NoError(t, err)
		require.InDelta(t, 300, rate.Value, 3)
		require.Equal(t, 6*time.Second, time.Since(began))
	})
}

func TestWorkersCountTheirOperationsFromTheirOwnNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make([][]int, 3)
		var workers []Work
		for i := range got {
			workers = append(workers, func(ctx context.Context, n int) error {
				got[i] = append(got[i], n)
				return Pause(ctx, 10*time.Millisecond)
			})
		}
		_, err := Rate(t.Context(), Task{TimeMS: 25}, workers)
		require.NoError(t, err)
		require.Equal(t, [][]int{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}}, got)
	})
}

func TestAFailureEndsTheRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, broken := time.Now(), errors.New("broken")
		idle := func(ctx context.Context, _ int) error { return Pause(ctx, time.Hour) }
		fails := func(ctx context.Context, _ int) error {
			_ = Pause(ctx, time.Second)
			return broken
		}
		_, err := Rate(t.Context(), Task{WarmMS: 1e6, TimeMS: 1e6}, []Work{idle, fails})
		require.ErrorIs(t, err, broken)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// The run waits for begun work, because the session is closed afterwards.
func TestTheRunEndsWhenAllWorkersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		work := func(context.Context, int) error {
			time.Sleep(3 * time.Second)
			ended = true
			return nil
		}
		_, err := Rate(t.Context(), Task{TimeMS: 1000}, []Work{work})
		require.NoError(t, err)
		require.True(t, ended)
	})
}

func TestAnEndedContextIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Rate(ctx, Task{TimeMS: 1000}, []Work{func(ctx context.Context, _ int) error { return ctx.Err() }})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAStampTellsItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stamp := Stamp()
		time.Sleep(1500 * time.Microsecond)
		us, err := Since(stamp)
		require.NoError(t, err)
		require.InDelta(t, 1500, us, math.SmallestNonzeroFloat64)
	})
	_, err := Since([]byte("yesterday"))
	require.Error(t, err)
	_, err = Since(nil)
	require.Error(t, err)
}
