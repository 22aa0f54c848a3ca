package ours

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"golang.org/x/sync/errgroup"
)

// rest is the time between two resignations: all candidates wait by then.
const rest = 2 * time.Millisecond

// victory is a leadership, with the time at which the candidate knew.
type victory struct {
	e  *election.Elector
	l  *election.Leadership
	at time.Time
}

// handOvers measures from each resignation until the next leader knows of its
// leadership. A resigned leader stands again.
func handOvers(ctx context.Context, t task.Task, clients []*session.Client) (task.Measured, error) {
	all, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	led := make(chan victory, len(clients))
	stand := func(e *election.Elector) error {
		k, err := e.Stand(ctx)
		if err != nil {
			return err
		}
		// Waited for below; ends with the leadership, or with ctx.
		all.Go(func() error {
			l, err := k.Await(ctx)
			if err != nil {
				if ctx.Err() != nil && errors.Is(err, context.Canceled) {
					return nil // told to stop; its znode goes with the session
				}
				return err
			}
			led <- victory{e, l, time.Now()}
			return nil
		})
		return nil
	}
	for i, c := range clients {
		e := election.New(c, t.Path, &election.Options{ID: fmt.Sprint(i)})
		if err := stand(e); err != nil {
			cancel()
			return task.Measured{}, errors.Join(err, all.Wait())
		}
	}
	p50, err := resignations(ctx, t, led, stand)
	cancel()
	return p50, errors.Join(err, all.Wait())
}

func resignations(ctx context.Context, t task.Task, led <-chan victory, stand func(*election.Elector) error) (task.Measured, error) {
	next := func() (victory, error) {
		select {
		case v := <-led:
			return v, nil
		case <-ctx.Done():
			return victory{}, context.Cause(ctx)
		}
	}
	leader, err := next()
	if err != nil {
		return task.Measured{}, err
	}
	samples := t.StartSamples()
	for !samples.Over() {
		if err := task.Pause(ctx, rest); err != nil {
			return task.Measured{}, err
		}
		old, began := leader, time.Now()
		if err := old.l.Resign(ctx); err != nil {
			return task.Measured{}, err
		}
		if leader, err = next(); err != nil {
			return task.Measured{}, err
		}
		samples.Add(float64(leader.at.Sub(began).Microseconds()))
		if err := stand(old.e); err != nil {
			return task.Measured{}, err
		}
	}
	return samples.Median(), nil
}
