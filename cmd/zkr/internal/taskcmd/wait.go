package taskcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

const taskWaitHelp = `Waits for the end of the task ID of QUEUE, and writes the task's result to stdout
unchanged. With -o json the result is an object that includes the task's state.

If the task is not done, zkr says why, and exits with 65 if the task has failed,
with 66 if it is dead, and with 67 if it was canceled. If the task has not ended
after --timeout, zkr exits with 75.

With --collect zkr removes the task before it shows the result.
`

// waiting has the arguments of a wait for a task.
type waiting struct {
	timeout time.Duration
	collect bool
}

func (w *waiting) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&w.timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit")
	f.BoolVar(&w.collect, "collect", false, "remove the task when it has ended")
}

// taskWait is "zkr task wait".
func (a *app) taskWait() *cobra.Command {
	c, w := &taskCommand{app: a}, &waiting{}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.CanBeBusy, cli.AwaitsTask),
		Use:         "wait QUEUE ID",
		Short:       "Wait for the end of a task, and show its result",
		Long:        taskWaitHelp,
		Example:     "  zkr task wait /queues/mail $id --timeout 10m --collect > answer",
		Args:        cli.Arguments("queue", "QUEUE", "ID"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := checkIDs("ID", args[1]); err != nil {
				return err
			}
			if err := cli.CheckTimeout(w.timeout); err != nil {
				return err
			}
			return w.await(cmd.Context(), c, args[1], func(context.Context, *dispatch.Queue) (string, error) { return args[1], nil })
		}),
	}
	w.flags(cmd)
	return cmd
}

// await waits for the end of a task, after before, which returns its id, and shows the
// result. id is "" if it is unknown before.
func (w *waiting) await(ctx context.Context, c *taskCommand, id string, before func(context.Context, *dispatch.Queue) (string, error)) error {
	var out dispatch.Result
	what := "the task " + cli.Readable([]byte(id))
	if id == "" {
		what = "the unique task"
	}
	err := c.app.Await(ctx, w.timeout, what, c.on(id, func(ctx context.Context, q *dispatch.Queue) error {
		id, err := before(ctx, q)
		if err != nil {
			return err
		}
		if !w.collect {
			out, err = q.Wait(ctx, id)
			return err
		}
		out, err = q.Collect(ctx, id)
		if err != nil && out.State.Finished() {
			c.app.Note("the task may still exist: %v", err)
			return nil
		}
		return err
	}))
	if err != nil {
		return err
	}
	return c.showResult(out)
}

// Result is a dispatch.Result in JSON.
type Result struct {
	ID    string         `json:"id"`
	State dispatch.State `json:"state"`
	cli.Content
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
	case c.app.JSON():
		out := Result{
			ID: r.ID, State: r.State, Error: r.Error, Attempt: r.Attempt, Worker: r.Worker,
			Submitted: r.Submitted, Assigned: r.Assigned, Finished: r.Finished,
		}
		if done {
			out.Content = cli.ContentOf(r.Output)
		}
		if err := c.app.PrintJSON(out); err != nil {
			return err
		}
	case done:
		return c.app.Print(r.Output)
	}
	if done {
		return nil
	}
	err := fmt.Errorf("the task %s is %s", cli.Readable([]byte(r.ID)), r.State)
	if r.State == "failed" {
		err = fmt.Errorf("the task %s has failed", cli.Readable([]byte(r.ID)))
	}
	if r.Error != "" {
		err = fmt.Errorf("%w: %s", err, cli.Readable([]byte(r.Error)))
	}
	return &exit.Failure{Code: codeOf(r.State), Err: err}
}

// codeOf is the exit code for the end of a task.
func codeOf(state dispatch.State) int {
	switch state {
	case "failed":
		return exit.CodeTaskFailed
	case "dead":
		return exit.CodeTaskDead
	case "canceled":
		return exit.CodeTaskCanceled
	}
	return exit.CodeFailed
}
