package apache

import (
	"context"
	"fmt"
)

// control runs do for server i while nothing else is done to that server.
func (c *Cluster) control(ctx context.Context, what string, i int, do func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apache: %s server %d: %w", what, i, err)
	}
	if err := c.known(i); err != nil {
		return err
	}
	if c.back == nil {
		return fmt.Errorf("apache: %s server %d: %w", what, i, ErrNotOurs)
	}
	c.seats[i].Lock()
	defer c.seats[i].Unlock()
	if err := do(); err != nil {
		return fmt.Errorf("apache: %s server %d: %w", what, i, err)
	}
	return nil
}

// Kill ends server i as SIGKILL does and returns when it is gone. Its data
// stays. A server that does not run is left alone.
func (c *Cluster) Kill(ctx context.Context, i int) error {
	return c.control(ctx, "kill", i, func() error { return c.back.kill(ctx, i) })
}

// Launch starts server i after a Kill and does not wait until it serves, which
// it may never do, as without a quorum.
func (c *Cluster) Launch(ctx context.Context, i int) error {
	return c.control(ctx, "launch", i, func() error {
		if err := c.back.start(ctx, i); err != nil {
			return err
		}
		return c.cutAgain(ctx, i)
	})
}

// Restart kills server i if it runs, starts it, and waits until it serves.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	if err := c.Kill(ctx, i); err != nil {
		return err
	}
	if err := c.Launch(ctx, i); err != nil {
		return err
	}
	return c.Await(ctx, i)
}

// Pause stops server i as SIGSTOP does: connections stay up, nothing answers.
func (c *Cluster) Pause(ctx context.Context, i int) error {
	return c.control(ctx, "pause", i, func() error { return c.back.pause(ctx, i, true) })
}

// Resume lets a paused server go on.
func (c *Cluster) Resume(ctx context.Context, i int) error {
	return c.control(ctx, "resume", i, func() error { return c.back.pause(ctx, i, false) })
}
