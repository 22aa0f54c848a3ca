package ui

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// taskAction changes a task.
type taskAction struct {
	queue *dispatch.Queue
	do    func(ctx context.Context, id, user, reason string) error
	// done is what has become of the task, and possible tells whether that can be.
	done     string
	possible func(dispatch.State) bool
}

func requeuing(client *session.Client, path string) change {
	q := dispatch.New(client, path, nil)
	requeue := func(ctx context.Context, id, _, _ string) error { return q.Requeue(ctx, id) }
	return &taskAction{q, requeue, "waits again", func(s dispatch.State) bool {
		return s.Finished() && taskformat.State(s) != taskformat.Done
	}}
}

func canceling(client *session.Client, path string) change {
	q := dispatch.New(client, path, nil)
	return &taskAction{q, q.CancelBy, "is canceled", func(s dispatch.State) bool { return !s.Finished() }}
}

// find reads the task from ZooKeeper: the shown view may be older.
func (a *taskAction) find(ctx context.Context, c *confirmation, id string) error {
	if id == "" {
		return errors.New("no task was chosen")
	}
	task, err := a.queue.Get(ctx, id)
	switch {
	case err != nil:
		return err
	case task.Err != nil:
		return task.Err
	case !a.possible(task.State):
		return fmt.Errorf("the task is %s: nothing was changed", task.State)
	}
	c.Item, c.ID, c.Task = id, recognize.Text([]byte(id), 200), &task
	c.Task.LastFailure = recognize.Text([]byte(task.LastFailure), 500)
	return nil
}

func (a *taskAction) apply(ctx context.Context, c *confirmation, user, reason string) (done string, err error) {
	return fmt.Sprintf("The task %s %s.", c.ID, a.done), a.do(ctx, c.Item, user, reason)
}
