package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

const taskListHelp = `Shows the tasks of QUEUE in the order in which they were submitted: each as it was when
it was read, which takes a request for each. ATTEMPT is that of the present attempt, or of
the next one, or of the last; LAST-FAILURE why the one before has failed. "zkr task show" says
more of one of them.
`

// taskList is "zkr task ls".
func (a *app) taskList() *cobra.Command {
	c := &taskCommand{app: a}
	var states []string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "ls QUEUE",
		Short: "Show the tasks of a queue",
		Long:  taskListHelp,
		Example: "  zkr task ls /queues/mail --state waiting,assigned\n" +
			"  zkr task ls /queues/mail --state dead --quiet | zkr task requeue /queues/mail -",
		Args: arguments("queue", "QUEUE"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			var wanted []dispatch.State
			for _, state := range states {
				if !slices.Contains(taskStates(), state) {
					return usage("--state is %q; it must be one of %s", state, strings.Join(taskStates(), ", "))
				}
				wanted = append(wanted, dispatch.State(state))
			}
			var found []dispatch.Info
			if err := c.app.work(cmd.Context(), c.on("", func(ctx context.Context, q *dispatch.Queue) (err error) {
				found, err = q.List(ctx, wanted...)
				return err
			})); err != nil {
				return err
			}
			return c.showTasks(found, quiet)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&states, "state", nil, "`states`: only the tasks in one of these; "+strings.Join(taskStates(), ", "))
	oneOf(cmd, "state", taskStates()...)
	f.BoolVarP(&quiet, "quiet", "q", false, "show the ids only, one per line")
	return cmd
}

func (c *taskCommand) showTasks(found []dispatch.Info, quiet bool) error {
	list := make([]taskInfo, 0, len(found))
	for _, in := range found {
		list = append(list, taskOf(in))
	}
	switch {
	case c.app.json():
		return c.app.line(struct {
			Queue string     `json:"queue"`
			Tasks []taskInfo `json:"tasks"`
		}{c.path, list})
	case quiet:
		var text strings.Builder
		for _, t := range list {
			// What is read again must be the id itself; a terminal is not asked to.
			if t.Error == "" && readable([]byte(t.ID)) == t.ID {
				fmt.Fprintln(&text, t.ID)
			} else {
				c.app.note("left out: %q, which is no word", t.ID)
			}
		}
		return c.app.print([]byte(text.String()))
	case len(list) == 0:
		return c.app.empty("there are no such tasks in %s", c.path)
	}
	rows := make([][]string, 0, len(list))
	for _, t := range list {
		if t.Error != "" {
			rows = append(rows, []string{readable([]byte(t.ID)), "no task", "-", "-", "-", "-", "-", brief([]byte(t.Error), 60)})
			continue
		}
		rows = append(rows, []string{
			readable([]byte(t.ID)), readable([]byte(t.State)), t.attempts(), strconv.Itoa(t.Priority), or(readable([]byte(t.Worker)), "-"),
			clock(t.Submitted), age(t.Submitted), or(brief([]byte(t.LastFailure), 60), "-"),
		})
	}
	return c.app.table(taskColumns, rows)
}

// taskShow is "zkr task show".
func (a *app) taskShow() *cobra.Command {
	c := &taskCommand{app: a}
	return &cobra.Command{
		Use:   "show QUEUE ID",
		Short: "Show all that is known of a task, but its payload and its result",
		Long: "Shows in which state the task ID of QUEUE is, which attempt is made, or was, by which\n" +
			"worker, and what has become of the one before. Times are by the servers' clock. \"zkr task\n" +
			"wait\" shows the result.",
		Example: "  zkr task show /queues/mail $id",
		Args:    arguments("queue", "QUEUE", "ID"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := checkIDs("ID", args[1]); err != nil {
				return err
			}
			var found dispatch.Info
			if err := c.app.visit(cmd.Context(), c.on(args[1], func(ctx context.Context, q *dispatch.Queue) (err error) {
				found, err = q.Get(ctx, args[1])
				return err
			})); err != nil {
				return err
			}
			return c.showTask(taskOf(found))
		}),
	}
}

func (c *taskCommand) showTask(t taskInfo) error {
	if c.app.json() {
		return c.app.line(t)
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return clock(t)
	}
	rows := [][]string{}
	for _, row := range [][2]string{
		{"id", readable([]byte(t.ID))}, {"state", readable([]byte(t.State))}, {"attempt", fmt.Sprintf("%d of %d", t.Attempt, t.MaxAttempts)},
		{"priority", strconv.Itoa(t.Priority)}, {"labels", readable([]byte(strings.Join(t.Labels, ", ")))},
		{"worker", readable([]byte(t.Worker))}, {"submitted", when(t.Submitted)}, {"not before", when(t.NotBefore)},
		{"assigned", when(t.Assigned)}, {"deadline", when(t.Deadline)}, {"finished", when(t.Finished)},
		{"retention", t.Retention}, {"last failure", readable([]byte(t.LastFailure))},
	} {
		if row[1] != "" {
			rows = append(rows, row[:])
		}
	}
	return c.app.table("WHAT VALUE", rows)
}
