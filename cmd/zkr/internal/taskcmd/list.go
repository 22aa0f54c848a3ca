package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const taskListHelp = `Shows the tasks of QUEUE in the order of their submission, each as of the moment of
its read; the command sends one request for up to 128 tasks. ATTEMPT is the number of
the present attempt, or of the next or the last one; PROGRESS is what the handler of a
running task has reported last; LAST-FAILURE is the reason why the previous attempt
failed. "zkr task show" shows more about one task.
`

// taskList is "zkr task ls".
func (a *app) taskList() *cobra.Command {
	c := &taskCommand{app: a}
	var states []string
	var quiet bool
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls QUEUE",
		Short:       "Show the tasks of a queue",
		Long:        taskListHelp,
		Example: "  zkr task ls /queues/mail --state waiting,assigned\n" +
			"  zkr task ls /queues/mail --state dead --quiet | zkr task requeue /queues/mail -",
		Args: cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			var wanted []dispatch.State
			for _, state := range states {
				if !slices.Contains(taskStates(), state) {
					return exit.Usage("--state is %q; it must be one of %s", state, strings.Join(taskStates(), ", "))
				}
				wanted = append(wanted, dispatch.State(state))
			}
			var found []Task
			var around foreign.Surroundings
			var pause *records.Pause
			list := func(ctx context.Context, client *session.Client) error {
				q := dispatch.New(client, c.path, nil)
				tasks, err := q.List(ctx, wanted...)
				if err != nil {
					return c.advised("", err)
				}
				found = make([]Task, 0, len(tasks))
				for _, in := range tasks {
					found = append(found, taskOf(in))
				}
				if err = addProgress(ctx, q, found); err == nil {
					pause, err = records.ReadPause(ctx, client, c.path)
				}
				return c.advised("", err)
			}
			if err := c.app.LongCall(cmd.Context(), c.inspectEmpty(&around, list, func() bool { return len(found) == 0 })); err != nil {
				return err
			}
			if err := c.showTasks(found, pause, around, quiet); err != nil || pause == nil {
				return err
			}
			c.app.Note("%s is %s", cli.Readable([]byte(c.path)), pause.Text())
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&states, "state", nil, "`states`: only the tasks in one of these; "+strings.Join(taskStates(), ", "))
	cli.OneOf(cmd, "state", taskStates()...)
	f.BoolVarP(&quiet, "quiet", "q", false, "show the ids only, one per line")
	return cmd
}

// inspectEmpty is an action that lists something, and looks at the znodes around the queue if the
// list is empty.
func (c *taskCommand) inspectEmpty(around *foreign.Surroundings, list cli.Action, isEmpty func() bool) cli.Action {
	return func(ctx context.Context, client *session.Client) error {
		err := list(ctx, client)
		if err == nil && isEmpty() {
			*around = foreign.Inspect(ctx, client, "", c.path)
		}
		return err
	}
}

func (c *taskCommand) showTasks(list []Task, pause *records.Pause, around foreign.Surroundings, quiet bool) error {
	switch {
	case c.app.JSON():
		return c.app.PrintJSON(struct {
			Queue  string         `json:"queue"`
			Exists bool           `json:"exists"`
			Paused *records.Pause `json:"paused,omitempty"` // missing: tasks are assigned
			Tasks  []Task         `json:"tasks"`
		}{c.path, !around.Missing, pause, list})
	case quiet:
		var text strings.Builder
		for _, t := range list {
			// Another command reads the output: each line must be the id itself.
			if t.Error == "" && cli.Readable([]byte(t.ID)) == t.ID {
				fmt.Fprintln(&text, t.ID)
			} else {
				c.app.Note("left out: %q, which cannot be printed as a line", t.ID)
			}
		}
		return c.app.Print([]byte(text.String()))
	case len(list) == 0:
		return around.NoteEmptyList(c.app.App, c.path, "there are no such tasks in %s")
	}
	rows := make([][]string, 0, len(list))
	for _, t := range list {
		if t.Error != "" {
			rows = append(rows, []string{cli.Readable([]byte(t.ID)), "invalid", "-", "-", "-", "-", "-", "-", cli.Preview([]byte(t.Error), 60)})
			continue
		}
		rows = append(rows, []string{
			cli.Readable([]byte(t.ID)), cli.Readable([]byte(t.State)), t.attempts(), strconv.Itoa(t.Priority), cli.OrElse(cli.Readable([]byte(t.Worker)), "-"),
			cli.LocalTime(t.Submitted), cli.Age(t.Submitted),
			cli.OrElse(t.Progress.text(), "-"), cli.OrElse(cli.Preview([]byte(t.LastFailure), 60), "-"),
		})
	}
	return c.app.Table(Columns, rows)
}

// taskShow is "zkr task show".
func (a *app) taskShow() *cobra.Command {
	c := &taskCommand{app: a}
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "show QUEUE ID",
		Short:       "Show a task: its state, its attempts and its last failure",
		Long: "Shows the state of the task ID of QUEUE, its current or last attempt with the worker\n" +
			"and the progress that the handler has reported, and the reason of the last failure. If the task waits, and no worker can be given the\n" +
			"task, or the queue is paused, the row \"waits for\" says why. Times are by the servers' clock. \"zkr task wait\"\n" +
			"shows the result.",
		Example: "  zkr task show /queues/mail $id",
		Args:    cli.Arguments("queue", "QUEUE", "ID"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := checkIDs("ID", args[1]); err != nil {
				return err
			}
			var found Task
			if err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = c.inspect(ctx, client, args[1])
				return c.advised(args[1], err)
			}); err != nil {
				return err
			}
			return c.showTask(found)
		}),
	}
}

// inspect reads a task, with its progress, or what it waits for.
func (c *taskCommand) inspect(ctx context.Context, client *session.Client, id string) (Task, error) {
	q := dispatch.New(client, c.path, nil)
	in, err := q.Get(ctx, id)
	found := taskOf(in)
	if err != nil {
		return found, err
	}
	if found.State != "waiting" {
		one := []Task{found}
		err = addProgress(ctx, q, one, found.ID)
		return one[0], err
	}
	pause, err := records.ReadPause(ctx, client, c.path)
	if err != nil {
		return found, err
	}
	if pause != nil {
		found.WaitsFor = "the end of the pause: the queue is " + pause.Text()
		return found, nil
	}
	workers, err := q.Workers(ctx)
	found.WaitsFor = waitsFor(in, workers)
	return found, err
}

// waitsFor describes the missing worker, if no worker can be given the task; ""
// otherwise.
func waitsFor(in dispatch.Info, workers []dispatch.WorkerInfo) string {
	switch {
	case slices.ContainsFunc(workers, func(w dispatch.WorkerInfo) bool { return w.CanTake(in.Labels) }):
		return ""
	case len(in.Labels) == 0 || len(workers) == 0:
		return "a worker"
	}
	return "a worker with the labels " + strings.Join(in.Labels, ", ")
}

func (c *taskCommand) showTask(t Task) error {
	if c.app.JSON() {
		return c.app.PrintJSON(t)
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return cli.LocalTime(t)
	}
	rows := [][]string{}
	for _, row := range [][2]string{
		{"id", cli.Readable([]byte(t.ID))}, {"state", cli.Readable([]byte(t.State))}, {"attempt", fmt.Sprintf("%d of %d", t.Attempt, t.MaxAttempts)},
		{"priority", strconv.Itoa(t.Priority)}, {"labels", cli.Readable([]byte(strings.Join(t.Labels, ", ")))},
		{"unique", cli.Readable([]byte(t.Key))}, {"unique until", when(t.KeyUntil)},
		{"waits for", cli.Readable([]byte(t.WaitsFor))}, {"worker", cli.Readable([]byte(t.Worker))}, {"submitted", when(t.Submitted)}, {"not before", when(t.NotBefore)},
		{"assigned", when(t.Assigned)}, {"progress", t.Progress.text()}, {"reported", when(t.Progress.reported())}, {"deadline", when(t.Deadline)}, {"finished", when(t.Finished)},
		{"retention", t.Retention}, {"dead retention", t.DeadKept}, {"last failure", cli.Readable([]byte(t.LastFailure))},
	} {
		if row[1] != "" {
			rows = append(rows, row[:])
		}
	}
	return c.app.Table("WHAT VALUE", rows)
}
