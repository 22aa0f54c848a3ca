package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

const taskCancelHelp = `Cancels tasks of QUEUE that have not ended: the tasks are never done, and a command
that runs for one of them is stopped. A task that is already canceled is not an error; a
task that has ended otherwise is an error. The ID - stands for ids on stdin, one per
line. With --reason, the error of the task says who has canceled it, and why.
`

// taskCancel is "zkr task cancel".
func (a *app) taskCancel() *cobra.Command {
	var by, reason string
	cmd := (&taskCommand{app: a}).changing("cancel", "Cancel tasks that have not ended", taskCancelHelp,
		"  zkr task cancel /queues/mail $id --reason \"the address is wrong\"",
		func() error {
			if by != "" && reason == "" {
				return exit.Usage("--by needs --reason")
			}
			return errors.Join(checkReasonText("by", by), checkReasonText("reason", reason))
		},
		func(ctx context.Context, q *dispatch.Queue, id string) error {
			if reason == "" {
				return q.Cancel(ctx, id)
			}
			return q.CancelBy(ctx, id, cmp.Or(by, cli.Operator()), reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that says why; the results of the tasks and the dashboard show it")
	cmd.Flags().StringVar(&by, "by", "", "the operator's `name`; default: user@host")
	return cmd
}

const taskRequeueHelp = `Retries tasks of QUEUE that are dead, failed or canceled, with all their attempts
and without a deadline. A task that has not ended is not an error; a task that is done
is an error. The ID - stands for ids on stdin, one per line.
`

// taskRequeue is "zkr task requeue".
func (a *app) taskRequeue() *cobra.Command {
	cmd := (&taskCommand{app: a}).changing("requeue", "Retry tasks that are dead, failed or canceled", taskRequeueHelp,
		"  zkr task ls /queues/mail --state dead --quiet | zkr task requeue /queues/mail -",
		func() error { return nil },
		func(ctx context.Context, q *dispatch.Queue, id string) error { return q.Requeue(ctx, id) })
	cmd.Annotations = cli.Does(cli.CanBeBusy)
	return cmd
}

// changing makes a command that changes tasks one after the other: a task that
// cannot be changed does not keep the command from the others.
func (c *taskCommand) changing(verb, short, help, example string, check func() error, do func(context.Context, *dispatch.Queue, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " QUEUE ID...", Short: short, Long: help, Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Arguments("queue", "QUEUE", "ID")(cmd, args[:min(len(args), 2)])
		},
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := check(); err != nil {
				return err
			}
			ids, err := c.ids(args[1:])
			if err != nil {
				return err
			}
			return c.app.LongCall(cmd.Context(), c.on("", func(ctx context.Context, q *dispatch.Queue) error {
				var all []error
				for _, id := range ids {
					limited, cancel := context.WithTimeout(ctx, c.app.Flags.ConnectTimeout)
					err := c.advised(id, do(limited, q, id))
					cancel()
					if all = append(all, err); ctx.Err() != nil {
						break
					}
				}
				return exit.Worst(all)
			}))
		}),
	}
}

// ids are the ids in the arguments and on stdin.
func (c *taskCommand) ids(args []string) (ids []string, err error) {
	read := false
	for _, arg := range args {
		switch {
		case arg != "-":
			ids = append(ids, arg)
		case read:
			return nil, exit.Usage("ID - is given twice")
		default:
			read = true
			text, err := io.ReadAll(c.app.Stdin)
			if err != nil {
				return nil, fmt.Errorf("cannot read stdin: %w", err)
			}
			ids = append(ids, cli.SplitLines(string(text))...)
		}
	}
	return ids, checkIDs("ID", ids...)
}
