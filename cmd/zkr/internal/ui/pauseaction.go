package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

// pauseAction pauses a queue, or ends its pause.
type pauseAction struct {
	client *session.Client
	path   string
	resume bool
}

func pausing(client *session.Client, path string) change { return &pauseAction{client, path, false} }

func resuming(client *session.Client, path string) change { return &pauseAction{client, path, true} }

// find reads the pause from ZooKeeper: the shown view may be older. The item of an end is the
// pause that the user saw.
func (a *pauseAction) find(ctx context.Context, c *confirmation, item string) error {
	now, err := records.ReadPause(ctx, a.client, a.path)
	if err != nil {
		return err
	}
	c.Pause = recognize.Text([]byte(now.Text()), 500)
	if !a.resume {
		if now != nil {
			return fmt.Errorf("the queue is %s: nothing was changed", c.Pause)
		}
		return nil
	}
	if now == nil {
		return errors.New("the queue is not paused: nothing was changed")
	}
	if c.Item, c.ID = strconv.FormatInt(now.Since.UnixMilli(), 10), c.Pause; item != "" && item != c.Item {
		return fmt.Errorf("this pause has ended, and the queue is %s: nothing was changed", c.Pause)
	}
	return nil
}

func (a *pauseAction) apply(ctx context.Context, _ *confirmation, user, reason string) (done string, err error) {
	q := dispatch.New(a.client, a.path, nil)
	var changed bool
	if a.resume {
		done = "The queue is resumed: tasks are assigned."
		changed, err = q.Resume(ctx)
	} else {
		done = "The queue is paused: no task is assigned."
		changed, err = q.Pause(ctx, user, reason)
	}
	if err == nil && !changed {
		err = errors.New("another client was faster: nothing was changed")
	}
	return done, err
}
