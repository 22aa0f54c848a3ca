package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// window is how many requests are in progress at a time.
	window = 256
	// between is the time from the end of a change to the next change.
	between = 2 * time.Millisecond
)

// znodes makes and changes the znodes observed by peers.
type znodes struct{ client *session.Client }

// connectZnodes connects to the servers; close ends it.
func connectZnodes(ctx context.Context, servers string, timeout time.Duration) (znodes, error) {
	client, err := session.Connect(ctx, servers, &session.Options{Timeout: timeout})
	return znodes{client}, err
}

// close closes the session, even if the run has ended.
func (z znodes) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return z.client.Close(ctx)
}

// cleanUp removes path with all descendants, even after the end of the run.
func (z znodes) cleanUp(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := z.remove(ctx, path); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// createTree creates path with n children.
func (z znodes) createTree(ctx context.Context, path string, children int) error {
	s, err := z.client.Session(ctx)
	if err != nil {
		return err
	}
	if err := s.EnsurePath(ctx, path, session.Persistent, nil); err != nil {
		return err
	}
	return z.fill(ctx, path, children)
}

// fill creates children of path, as fast as a server takes them. Their data is
// the time.
func (z znodes) fill(ctx context.Context, path string, children int) error {
	s, err := z.client.Session(ctx)
	if err != nil {
		return err
	}
	return pipeline(ctx, children, func(i int) *session.Future[session.Node] {
		return s.StartCreate(child(path, i), task.Stamp(), session.Persistent, nil)
	}, func(_ int, err error) error { return err })
}

// change sets a child of path to the time, again and again, until ctx ends.
func (z znodes) change(ctx context.Context, path string) error {
	s, err := z.client.Session(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, err := s.Set(ctx, path+"/"+task.ChangedChild, task.Stamp(), -1); err != nil {
			return unlessOver(ctx, err)
		}
		if err := task.Pause(ctx, between); err != nil {
			return unlessOver(ctx, err)
		}
	}
	return nil
}

// unlessOver is err, unless err is only the end of ctx.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// remove deletes path with all descendants.
func (z znodes) remove(ctx context.Context, path string) error {
	s, err := z.client.Session(ctx)
	if err != nil {
		return err
	}
	for {
		names, _, err := s.Children(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		err = pipeline(ctx, len(names), func(i int) *session.Future[struct{}] {
			return s.StartDelete(path+"/"+names[i], -1)
		}, func(i int, err error) error {
			if errors.Is(err, session.ErrNotEmpty) {
				return z.remove(ctx, path+"/"+names[i])
			}
			if errors.Is(err, session.ErrNoNode) {
				return nil // a container removed by the server
			}
			return err
		})
		if err != nil {
			return err
		}
		if err = s.Delete(ctx, path, -1); !errors.Is(err, session.ErrNotEmpty) {
			return err
		}
	}
}

func child(path string, i int) string { return fmt.Sprintf("%s/child-%06d", path, i) }

// pipeline starts n requests, a window of them at a time, and calls done with
// the outcome of each, in order.
func pipeline[T any](ctx context.Context, n int, start func(i int) *session.Future[T], done func(i int, err error) error) error {
	var under []*session.Future[T]
	for i := range n + window {
		if i < n {
			under = append(under, start(i))
		}
		if first := i - window; first >= 0 && first < n {
			_, err := under[first].Wait(ctx)
			if err := done(first, err); err != nil {
				return err
			}
			under[first] = nil
		}
	}
	return nil
}
