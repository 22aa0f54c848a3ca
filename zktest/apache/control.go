package apache

import (
	"context"
	"fmt"
	"os"
)

// controlServer runs do for server i, one call at a time for each server.
func (c *Cluster) controlServer(ctx context.Context, what string, i int, do func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apache: %s server %d: %w", what, i, err)
	}
	if err := c.checkIndex(i); err != nil {
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

// Kill ends server i as SIGKILL does and returns when the process has ended.
// The data stays. Kill of a stopped server has no effect.
func (c *Cluster) Kill(ctx context.Context, i int) error {
	c.mustBeStarted()
	return c.controlServer(ctx, "kill", i, func() error { return c.back.kill(ctx, i) })
}

// Launch starts server i after a Kill without waiting for the server to serve:
// without a quorum a server may never serve.
func (c *Cluster) Launch(ctx context.Context, i int) error {
	c.mustBeStarted()
	return c.controlServer(ctx, "launch", i, func() error {
		if err := c.back.start(ctx, i); err != nil {
			return err
		}
		return c.cutAgain(ctx, i)
	})
}

// Restart kills server i if running, starts the server, and waits until the
// server serves.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	c.mustBeStarted()
	if err := c.Kill(ctx, i); err != nil {
		return err
	}
	if err := c.Launch(ctx, i); err != nil {
		return err
	}
	return c.Await(ctx, i)
}

// UseRelease lets servers that are started from now on run the release of ZooKeeper that is
// unpacked in home, or with "" the one of the beginning: for an upgrade, or the way back,
// server by server. It needs the mode [Jars].
func (c *Cluster) UseRelease(ctx context.Context, home string) error {
	c.mustBeStarted()
	b, ok := c.back.(*jarBackend)
	if !ok {
		return fmt.Errorf("apache: use the release in %q: %w with servers of the mode %q: set %s=%s", home, ErrUnavailable, c.mode, EnvMode, Jars)
	}
	if home == "" {
		home = os.Getenv(EnvHome)
	}
	java, classPath, err := findJars(home)
	if err != nil {
		return fmt.Errorf("apache: %w", err)
	}
	b.use(java, classPath, c.classArchive(ctx, java, classPath))
	return nil
}

// Pause stops server i as SIGSTOP does: connections stay up, nothing answers.
func (c *Cluster) Pause(ctx context.Context, i int) error {
	c.mustBeStarted()
	return c.controlServer(ctx, "pause", i, func() error { return c.back.pause(ctx, i, true) })
}

// Resume lets a paused server go on.
func (c *Cluster) Resume(ctx context.Context, i int) error {
	c.mustBeStarted()
	return c.controlServer(ctx, "resume", i, func() error { return c.back.pause(ctx, i, false) })
}
