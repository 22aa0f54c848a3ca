package taskcmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const taskPauseHelp = `Pauses QUEUE: once the command has ended, no task is assigned to a worker, until "zkr
task resume". The queue accepts tasks, and assigned tasks go on, also those that their
worker has not begun: "zkr task ls QUEUE --state assigned" shows them. A queue that is
paused already stays so, with the reason of the first pause. The pause outlives all
masters and workers. Masters of former versions ignore it.
`

// maxReason is that of the package dispatch.
const maxReason = 1024

// taskPause is "zkr task pause".
func (a *app) taskPause() *cobra.Command {
	var by, reason string
	cmd := a.pausing("pause", "Stop the assignment of tasks, until \"resume\"", taskPauseHelp,
		func() error {
			if reason == "" {
				return exit.Usage("--reason is missing: say why, for those who wait")
			}
			if err := checkReasonText("by", by); err != nil {
				return err
			}
			return checkReasonText("reason", reason)
		},
		func(ctx context.Context, q *dispatch.Queue) (bool, error) {
			return q.Pause(ctx, cmp.Or(by, cli.Operator()), reason)
		})
	cmd.Example = "  zkr task pause /queues/mail --reason \"the mail server moves\""
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that says why; \"zkr task stats\" and the dashboard show it")
	cmd.Flags().StringVar(&by, "by", "", "the operator's `name`; default: user@host")
	return cmd
}

func checkReasonText(flag, value string) error {
	if len(value) > maxReason {
		return exit.Usage("--%s has %d bytes; it must have up to %d", flag, len(value), maxReason)
	}
	return cli.IsText(flag, value)
}

// taskResume is "zkr task resume".
func (a *app) taskResume() *cobra.Command {
	return a.pausing("resume", "End a pause of a queue", "Ends the pause of QUEUE: tasks that wait are assigned at once. A queue that is not paused\nis not an error.\n",
		func() error { return nil },
		func(ctx context.Context, q *dispatch.Queue) (bool, error) { return q.Resume(ctx) })
}

// pausing makes a command that pauses or resumes a queue.
func (a *app) pausing(verb, short, help string, check func() error, do func(context.Context, *dispatch.Queue) (bool, error)) *cobra.Command {
	c := &taskCommand{app: a}
	return &cobra.Command{
		Use: verb + " QUEUE", Short: short, Long: help, Example: "  zkr task " + verb + " /queues/mail",
		Args: cli.Arguments("queue", "QUEUE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := check(); err != nil {
				return err
			}
			changed := false
			var now *records.Pause
			if err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				if changed, err = do(ctx, dispatch.New(client, c.path, nil)); err == nil {
					now, err = records.ReadPause(ctx, client, c.path)
				}
				return err
			}); err != nil {
				return err
			}
			if c.app.JSON() {
				return c.app.PrintJSON(struct {
					Queue   string         `json:"queue"`
					Changed bool           `json:"changed"`
					Paused  *records.Pause `json:"paused,omitempty"` // the present pause; missing: none
				}{c.path, changed, now})
			}
			if !changed {
				c.app.Note("nothing was changed: %s is %s", cli.Readable([]byte(c.path)), cli.OrElse(now.Text(), "not paused"))
			}
			return nil
		}),
	}
}
