package ours

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// withView runs a view of the children of t's path while fn runs; fn begins when
// the view is loaded.
func withView(ctx context.Context, t task.Task, c *session.Client, fn func(context.Context, *cache.Children[[]byte]) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	v := cache.NewChildren(c, t.Path, cache.Bytes, nil)
	ended := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { ended <- v.Run(ctx) }()
	defer func() {
		cancel()
		if over := <-ended; !errors.Is(over, context.Canceled) {
			err = errors.Join(err, over)
		}
	}()
	if err := v.WaitSynced(ctx); err != nil {
		return err
	}
	return fn(ctx, v)
}

// load loads again and again: once to warm up, then as often as there is time
// for, at least once.
func load(ctx context.Context, t task.Task, c *session.Client) (out task.Measured, err error) {
	once := func() (took float64, err error) {
		began := time.Now()
		err = withView(ctx, t, c, func(_ context.Context, v *cache.Children[[]byte]) error {
			took = float64(time.Since(began).Microseconds()) / 1000
			if v.Len() != t.Nodes {
				return fmt.Errorf("%d of %d children are loaded", v.Len(), t.Nodes)
			}
			return nil
		})
		return took, err
	}
	if _, err := once(); err != nil {
		return out, err
	}
	var all []float64
	for began := time.Now(); len(all) == 0 || time.Since(began) < t.Time(); {
		took, err := once()
		if err != nil {
			return out, err
		}
		all = append(all, took)
	}
	out.Value = task.Median(all)
	return out, nil
}

func creates(ctx context.Context, t task.Task, c *session.Client, ready func() error) (out task.Measured, err error) {
	err = withView(ctx, t, c, func(ctx context.Context, v *cache.Children[[]byte]) error {
		if err := ready(); err != nil {
			return err
		}
		for ev, err := range v.Events(ctx) {
			if err != nil {
				return err
			}
			if v.Len() == t.Nodes || ev.Kind == cache.EventSnapshot && ev.Snapshot.Len() == t.Nodes {
				break
			}
		}
		first, _ := v.Get(task.FirstChild)
		us, err := task.Since(first.Value)
		out.Value = us / 1000
		return err
	})
	return out, err
}

func change(ctx context.Context, t task.Task, c *session.Client, ready func() error) (out task.Measured, err error) {
	err = withView(ctx, t, c, func(ctx context.Context, v *cache.Children[[]byte]) error {
		if err := ready(); err != nil {
			return err
		}
		samples := t.StartSamples()
		for ev, err := range v.Events(ctx) {
			if err != nil {
				return err
			}
			if samples.Over() {
				break
			}
			if ev.Kind != cache.EventUpdated {
				continue
			}
			us, err := task.Since(ev.New.Value)
			if err != nil {
				return err
			}
			samples.Add(us)
		}
		out = samples.Median()
		return nil
	})
	return out, err
}
