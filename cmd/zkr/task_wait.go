package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

const taskWaitHelp = `Waits for the end of the task ID of QUEUE, whoever has submitted it, and writes its
result to stdout as it is. With -o json the result is an object, which says how the task
has ended.

If the task is not done zkr says why: it exits with 65 if the task has failed, with 66
if it is dead, and with 67 if it was canceled. If it takes longer than --timeout zkr
exits with 75.

With --collect the task is removed before the result is shown.
`

// waiting is how somebody waits for a task.
type waiting struct {
	timeout time.Duration
	collect bool
}

func (w *waiting) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&w.timeout, "timeout", 0, "how long to wait, connecting included; 0: for ever")
	f.BoolVar(&w.collect, "collect", false, "remove the task when it has ended")
}

// taskWait is "zkr task wait".
func (a *app) taskWait() *cobra.Command {
	c, w := &taskCommand{app: a}, &waiting{}
	cmd := &cobra.Command{
		Use:     "wait QUEUE ID",
		Short:   "Wait for the end of a task, and show its result",
		Long:    taskWaitHelp,
		Example: "  zkr task wait /queues/mail $id --timeout 10m --collect > answer",
		Args:    arguments("queue", "QUEUE", "ID"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := checkIDs("ID", args[1]); err != nil {
				return err
			}
			if err := checkTimeout(w.timeout); err != nil {
				return err
			}
			return w.await(cmd.Context(), c, args[1], func(context.Context, *dispatch.Queue) error { return nil })
		}),
	}
	w.flags(cmd)
	return cmd
}

// await waits for the end of a task, after before, and shows the result.
func (w *waiting) await(ctx context.Context, c *taskCommand, id string, before func(context.Context, *dispatch.Queue) error) error {
	var out dispatch.Result
	err := c.app.await(ctx, w.timeout, "the task "+readable([]byte(id)), c.on(id, func(ctx context.Context, q *dispatch.Queue) (err error) {
		if err := before(ctx, q); err != nil {
			return err
		}
		if !w.collect {
			out, err = q.Wait(ctx, id)
			return err
		}
		out, err = q.Collect(ctx, id)
		if err != nil && out.State.Finished() {
			c.app.note("the task may not be removed: %v", err)
			return nil
		}
		return err
	}))
	if err != nil {
		return err
	}
	return c.showResult(out)
}

// taskResult is a dispatch.Result as "-o json" shows it.
type taskResult struct {
	ID    string         `json:"id"`
	State dispatch.State `json:"state"`
	content
	Error     string    `json:"error"`
	Attempt   int       `json:"attempt"`
	Worker    string    `json:"worker"`
	Submitted time.Time `json:"submitted,omitzero"`
	Assigned  time.Time `json:"assigned,omitzero"`
	Finished  time.Time `json:"finished,omitzero"`
}

// showResult shows a result; a task that is not done is an error.
func (c *taskCommand) showResult(r dispatch.Result) error {
	done := r.State == "done"
	switch {
	case c.app.json():
		out := taskResult{
			ID: r.ID, State: r.State, Error: r.Error, Attempt: r.Attempt, Worker: r.Worker,
			Submitted: r.Submitted, Assigned: r.Assigned, Finished: r.Finished,
		}
		if done {
			out.content = contentOf(r.Output)
		}
		if err := c.app.line(out); err != nil {
			return err
		}
	case done:
		return c.app.print(r.Output)
	}
	if done {
		return nil
	}
	err := fmt.Errorf("the task %s is %s", readable([]byte(r.ID)), r.State)
	if r.State == "failed" {
		err = fmt.Errorf("the task %s has failed", readable([]byte(r.ID)))
	}
	if r.Error != "" {
		err = fmt.Errorf("%w: %s", err, readable([]byte(r.Error)))
	}
	return &failure{code: codeOf(r.State), err: err}
}

// codeOf is the exit code that says how a task has ended.
func codeOf(state dispatch.State) int {
	switch state {
	case "failed":
		return exitTaskFailed
	case "dead":
		return exitTaskDead
	case "canceled":
		return exitTaskCanceled
	}
	return exitFailed
}
