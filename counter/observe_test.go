package counter_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestEventsOfACounterUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Add, Set", Counts: everything,
		Op: func(ctx context.Context, p *world.Party) error {
			c := counter.New(p.Tested, path, nil)
			_, err := c.Add(ctx, 1)
			if err == nil {
				err = c.Set(ctx, 7)
			}
			world.Pause(time.Minute) // for the batches whose callers have left
			return excused(err)
		},
	}.RunObserved(t, *update, "counter")
}

func TestEventsOfASharedUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Get, TrySet", Counts: everything,
		Op: func(ctx context.Context, p *world.Party) error {
			c := counter.NewShared(p.Tested, path, 3, nil)
			seen, err := c.Get(ctx)
			if err == nil {
				_, err = c.TrySet(ctx, seen, 4)
			}
			world.Pause(time.Minute)
			return excused(err)
		},
	}.RunObserved(t, *update, "shared")
}

func TestEventsOfASequenceUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Next, three times", Counts: everything,
		Op: func(ctx context.Context, p *world.Party) error {
			q := counter.NewSequence(p.Tested, path, &counter.Options{Block: 2})
			var failed error
			for range 3 {
				_, err := q.Next(ctx)
				failed = errors.Join(failed, err)
			}
			world.Pause(time.Minute)
			return excused(failed)
		},
	}.RunObserved(t, *update, "sequence")
}

func TestEventsOfALatchUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "TrySetCount, CountDown, Await", Counts: everything,
		Op: func(ctx context.Context, p *world.Party) error {
			l := counter.NewLatch(p.Tested, path, nil)
			_, err := l.TrySetCount(ctx, 1)
			if err == nil {
				_, err = l.CountDown(ctx)
			}
			world.Pause(time.Second) // the writer reports a batch behind the return of the call
			if err == nil {
				err = l.Await(ctx)
			}
			world.Pause(time.Minute)
			return excused(err)
		},
	}.RunObserved(t, *update, "latch")
}

// excused is err without an unknown outcome, which some faults lead to.
func excused(err error) error {
	if errors.Is(err, session.ErrUnknownOutcome) {
		return nil
	}
	return err
}

// batches are the batches that an observer was told of.
type batches chan observe.BatchWritten

func (b batches) Observe(_ context.Context, e observe.Event) {
	if e, ok := e.(observe.BatchWritten); ok {
		b <- e
	}
}

// Concurrent operations, a lost race, a lost reply, an overflow, and a caller that leaves.
func TestEventsOfACounterSayWhatHappened(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		events := make(batches, 100)
		client := w.ClientWith(session.Options{Observer: events})
		c := counter.New(client, path, nil)
		w.add(c, 1)
		w.Settle()
		require.Equal(w, observe.BatchWritten{Path: path, Operations: 1}, <-events)

		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		var all sync.WaitGroup
		for range 3 {
			// Waited for below; ends with its addition.
			all.Go(func() { w.add(c, 1) })
			w.Pass(oneWay / 2)
		}
		all.Wait()
		w.Settle()
		require.Equal(w, observe.BatchWritten{Path: path, Operations: 1, Took: 2 * oneWay}, <-events)
		require.Equal(w, observe.BatchWritten{Path: path, Operations: 2, Took: 2 * oneWay}, <-events)

		require.NoError(w, w.Server.Set(path, long(5)))
		w.add(c, 1)
		w.Settle()
		require.Equal(w, observe.BatchWritten{Path: path, Operations: 1, Conflicts: 1, Took: 6 * oneWay}, <-events)

		w.Server.FailNth(writes, 1, zktest.Action{Do: zktest.DropReplyCut})
		w.add(c, 1)
		w.Settle()
		lost := <-events
		require.Equal(w, observe.BatchWritten{Path: path, Operations: 1, Unknown: 1, Took: lost.Took}, lost)

		_, err := c.Add(w.Ctx, 1<<63-1)
		require.ErrorIs(w, err, counter.ErrOverflow)
		w.Settle()
		require.ErrorIs(w, (<-events).Err, counter.ErrOverflow)

		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		_, err = c.Add(w.Within(time.Second), 1)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.Empty(w, events, "the outcome is not known yet")
		w.Server.Heal()
		w.Pass(time.Minute)
		left := <-events
		require.Equal(w, 1, left.Operations)
		require.Equal(w, time.Second, left.Took)
		require.ErrorIs(w, left.Err, session.ErrUnknownOutcome)
		require.ErrorIs(w, left.Err, context.DeadlineExceeded)
		require.Empty(w, events)
	})
}

// Each operation is in one batch, also if its caller leaves.
func TestBatchesCountEveryOperationOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		events := make(batches, 1000)
		clients := []*session.Client{w.ClientWith(session.Options{Observer: events}), w.ClientWith(session.Options{Observer: events})}
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		const each = 100
		var all sync.WaitGroup
		for _, client := range clients {
			c := counter.New(client, path, nil)
			for n := range each {
				// Waited for below; ends with its context at the latest.
				all.Go(func() {
					_, err := c.Add(w.Within(time.Duration(1+n)*oneWay), 1)
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						w.Error(err)
					}
				})
			}
		}
		all.Wait()
		w.Pass(time.Minute)
		operations := 0
		for len(events) > 0 {
			operations += (<-events).Operations
		}
		require.Equal(w, len(clients)*each, operations)
	})
}

// An observer may change the counter that reports to it.
func TestObserverMayUseTheCounter(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var c *counter.Counter
		var calls atomic.Int64
		client := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			if _, ok := e.(observe.BatchWritten); !ok || calls.Add(1) > 5 {
				return
			}
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if _, err := c.Add(within, 1); err != nil {
				w.Error(err)
			}
		})})
		c = counter.New(client, path, nil)
		var all sync.WaitGroup
		for range 3 {
			// Waited for below; ends with its addition.
			all.Go(func() { w.add(c, 1) })
		}
		all.Wait()
		w.Pass(time.Minute)
		require.EqualValues(w, 3+5, w.value())
	})
}

// A caller whose context ends for a cause gives up as any other.
func TestBatchOfACallerThatGivesUpSaysSo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		events := make(batches, 100)
		c := counter.New(w.ClientWith(session.Options{Observer: events}), path, nil)
		w.add(c, 1)
		<-events
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		ctx, stop := context.WithCancelCause(w.Ctx)
		errOther := errors.New("another goroutine has failed")
		time.AfterFunc(time.Second, func() { stop(errOther) })
		_, err := c.Add(ctx, 1)
		require.ErrorIs(w, err, errOther)
		w.Server.Heal()
		w.Pass(time.Minute)
		left := <-events
		require.ErrorIs(w, left.Err, errOther)
		require.ErrorIs(w, left.Err, context.Canceled)
	})
}
