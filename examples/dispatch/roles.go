package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
	"github.com/zkrecipes/zkrecipes/session"
)

func (c settings) connect(ctx context.Context) (*session.Client, error) {
	return session.Connect(ctx, c.servers, &session.Options{Timeout: c.session})
}

// runClient submits tasks, one a second, and then collects their results.
func runClient(ctx context.Context, c settings, log io.Writer) error {
	ctx, cancel := osproc.UntilStdinEnds(ctx)
	defer cancel()
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	queue := dispatch.New(client, c.path, nil)
	clock := time.NewTicker(c.second)
	defer clock.Stop()
	var ids []string
	for i := range c.tasks {
		task := dispatch.Task{ID: fmt.Sprintf("%s-%02d", c.name, i+1), Payload: []byte("3"), Retention: c.retention}
		if _, err := queue.Submit(ctx, task); err != nil {
			return err
		}
		fmt.Fprintln(log, "submits", task.ID)
		ids = append(ids, task.ID)
		select {
		case <-clock.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, id := range ids {
		r, err := queue.Collect(ctx, id)
		if err != nil {
			return err
		}
		if r.State != "done" || string(r.Output) != "worked for 3 s" {
			return fmt.Errorf("%s is %s: %s%s", id, r.State, r.Output, r.Error)
		}
	}
	fmt.Fprintln(log, "has all", len(ids), "results")
	return nil
}

// runWorker does tasks, one after the other, until it is told to end.
func runWorker(ctx context.Context, c settings, log io.Writer) error {
	told, cancel := osproc.UntilStdinEnds(ctx)
	defer cancel()
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	work := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		n, err := strconv.Atoi(string(a.Payload))
		if err != nil {
			return nil, fmt.Errorf("%w: the payload is not a number: %w", dispatch.ErrPermanent, err)
		}
		fmt.Fprintf(log, "begins %s, attempt %d, token %d\n", a.ID, a.Number, a.Token())
		select {
		case <-time.After(time.Duration(n) * c.second):
			fmt.Fprintf(log, "has done %s\n", a.ID)
			return fmt.Appendf(nil, "worked for %d s", n), nil
		case <-ctx.Done():
			fmt.Fprintf(log, "gives up %s: %v\n", a.ID, context.Cause(ctx))
			return nil, context.Cause(ctx)
		}
	}
	w := dispatch.NewWorker(client, c.path, work, &dispatch.WorkerOptions{Name: c.name, Concurrency: 1, Prefetch: 40})
	drained := make(chan error, 1)
	// Waited for below; ends with told, when the worker is drained.
	go func() {
		<-told.Done()
		drained <- w.Drain(ctx)
	}()
	err = w.Run(ctx)
	cancel()
	return errors.Join(err, <-drained)
}

// runMaster gives out tasks, whenever it leads, until it is told to end.
func runMaster(ctx context.Context, c settings, _ io.Writer) error {
	told, cancel := osproc.UntilStdinEnds(ctx)
	defer cancel()
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	return dispatch.NewMaster(client, c.path, &dispatch.Options{ID: c.name}).Run(told)
}
