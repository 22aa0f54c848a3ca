package jobcmd

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// kill is "zkr job kill".
func (c *jobCommand) kill() *cobra.Command {
	return c.ending("kill NAME", "End a job, also while workers run, and remove it",
		`Ends the job NAME, and removes it: no worker can join the job any more, and its
workers lose their hold, so that commands under "zkr job join" are killed. A job that
is over is just removed.
`, func(name string) cli.Action {
			return c.on(name, func(ctx context.Context, _ *session.Client, job *workerctl.Job) error { return job.Kill(ctx) })
		})
}

// remove is "zkr job rm".
func (c *jobCommand) remove() *cobra.Command {
	var force bool
	cmd := c.ending("rm NAME", "Remove what is left of a job that is over, or of a damaged job",
		`Removes what is left of the job NAME, which is over. The last worker to leave, or
"zkr job kill", removes a job; this command completes a removal that was interrupted.
If the job is not over, zkr exits with 75; "zkr job kill" ends the job.

If a job's own znode was overwritten with something that is not a record of a job, the
job can be neither listed nor killed, and keeps its name. With --force zkr deletes the
znode of such a job with everything below it, also while workers run. A job that zkr
can read, or that a newer version of zkr wrote, is never deleted that way.
`, func(name string) cli.Action {
			plain := c.on(name, func(ctx context.Context, _ *session.Client, job *workerctl.Job) error { return job.Remove(ctx) })
			return func(ctx context.Context, client *session.Client) error {
				err := plain(ctx, client)
				if force && errors.Is(err, workerctl.ErrRecord) {
					return workerctl.NewJanitor(client, c.opts).DeleteDamaged(ctx, name)
				}
				return err
			}
		})
	cmd.Annotations = cli.Does(cli.NeedsFreeName)
	cmd.Flags().BoolVar(&force, "force", false, "also delete a job whose znode is not a record of a job")
	return cmd
}

func (c *jobCommand) ending(use, short, help string, end func(name string) cli.Action) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: help, Example: "  zkr job " + strings.Replace(use, "NAME", "words", 1), Args: cli.Arguments("job", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			return c.app.Call(cmd.Context(), end(args[0]))
		}),
	}
}
