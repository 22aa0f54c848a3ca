package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Work is an operation of a worker. n is the worker's number plus the number of
// its finished operations.
type Work func(ctx context.Context, n int) error

// tally counts the operations of a worker, on its own cache line.
type tally struct {
	n atomic.Int64
	_ [56]byte
}

// Rate runs all workers concurrently and returns the number of finished
// operations per second, between the warm-up and the end, and what an operation costs. Then the workers'
// context ends, and Rate waits for begun operations.
func Rate(ctx context.Context, t Task, workers []Work) (Measured, error) {
	all, ctx := errgroup.WithContext(ctx)
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make([]tally, len(workers))
	for i, work := range workers {
		// Waited for below; ends with working, or with an error.
		all.Go(func() error { return runWorker(working, i, work, &done[i]) })
	}
	measured, err := observe(working, t, done)
	stop()
	return measured, errors.Join(all.Wait(), err)
}

func runWorker(ctx context.Context, i int, work Work, done *tally) error {
	for n := i; ctx.Err() == nil; n++ {
		err := work(ctx, n)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // told to stop
		}
		if err != nil {
			return fmt.Errorf("worker %d: %w", i, err)
		}
		done.n.Add(1)
	}
	return nil
}

// observe counts the operations after the warm-up.
func observe(ctx context.Context, t Task, done []tally) (Measured, error) {
	if err := Pause(ctx, t.Warm()); err != nil {
		return Measured{}, err
	}
	meter, before, began := StartMeter(), sum(done), time.Now()
	if err := Pause(ctx, t.Time()); err != nil {
		return Measured{}, err
	}
	n := sum(done) - before
	return Measured{Value: float64(n) / time.Since(began).Seconds(), Cost: meter.Per(n)}, nil
}

func sum(done []tally) (out int64) {
	for i := range done {
		out += done[i].n.Load()
	}
	return out
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Median is the middle of values, or the mean of the two in the middle; 0 if
// there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[at]
	}
	return (sorted[at-1] + sorted[at]) / 2
}

// Stamp is the present time as the data of a znode: microseconds since 1970 by
// this machine's clock, the same for all peers.
func Stamp() []byte { return strconv.AppendInt(nil, time.Now().UnixMicro(), 10) }

// Since is how many microseconds ago data was stamped.
func Since(data []byte) (float64, error) {
	at, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("task: no stamp: %w", err)
	}
	return float64(time.Now().UnixMicro() - at), nil
}
