package taskcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

const taskRemoveHelp = `Removes tasks of QUEUE, in any state, with their payloads and results. A task that
has not ended is canceled first, and its command is stopped. A task with an invalid
record is removed too. The ID - stands for ids on stdin, one per line.
`

// taskRemove is "zkr task rm".
func (a *app) taskRemove() *cobra.Command {
	return (&taskCommand{app: a}).changing("rm", "Remove tasks, whatever their state", taskRemoveHelp,
		"  zkr task rm /queues/mail $id",
		func() error { return nil }, func(ctx context.Context, q *dispatch.Queue, id string) error { return q.Remove(ctx, id) })
}

// unreadableState is the --state of tasks with unreadable records.
const unreadableState = "unreadable"

const taskPurgeHelp = `Removes all tasks of QUEUE that are in one of the given states, with their payloads
and results, and shows their number. Tasks that have not ended are canceled first,
and their commands are stopped. The state "unreadable" stands for tasks with invalid
records. Records of a newer version are not invalid, although this version of zkr
cannot read them; they stay.

The command also removes payloads and results whose task was deleted by hand. Use
this command instead of deleting znodes of a queue by hand.
`

// taskPurge is "zkr task purge".
func (a *app) taskPurge() *cobra.Command {
	c := &taskCommand{app: a}
	allowed := append(taskStates(), unreadableState)
	var states []string
	cmd := &cobra.Command{
		Use:   "purge QUEUE",
		Short: "Remove all tasks in given states",
		Long:  taskPurgeHelp,
		Example: "  zkr task purge /queues/mail --state dead\n" +
			"  zkr task purge /queues/mail --state " + strings.Join(allowed, ","),
		Args: cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			var wanted []dispatch.State
			for _, state := range states {
				switch {
				case !slices.Contains(allowed, state):
					return exit.Usage("--state is %q; it must be one of %s", state, strings.Join(allowed, ", "))
				case state == unreadableState:
					state = ""
				}
				wanted = append(wanted, dispatch.State(state))
			}
			if len(wanted) == 0 {
				return exit.Usage("--state is missing; it must name the states of the tasks to remove: %s", strings.Join(allowed, ", "))
			}
			removed := 0
			if err := c.app.LongCall(cmd.Context(), c.on("", func(ctx context.Context, q *dispatch.Queue) (err error) {
				removed, err = q.Purge(ctx, wanted...)
				return err
			})); err != nil {
				return err
			}
			if c.app.JSON() {
				return c.app.PrintJSON(struct {
					Queue   string `json:"queue"`
					Removed int    `json:"removed"`
				}{c.path, removed})
			}
			return c.app.Printf("removed %s from %s\n", cli.Count(removed, "task"), cli.Readable([]byte(c.path)))
		}),
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "`states`: the tasks in one of these; "+strings.Join(allowed, ", "))
	cli.OneOf(cmd, "state", allowed...)
	return cmd
}
