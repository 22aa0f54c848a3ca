package jobcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

const janitorHelp = `Removes the jobs below --root that have ended and were not removed completely, and
the jobs without a living worker for --abandoned, and shows their names. The time of
--abandoned starts when a janitor first finds the job without a living worker, so
the first look never finds a job abandoned.

With --watch zkr continues, and looks at least every minute. Any number of janitors
can run; the janitors elect one that does the work. INT (Ctrl-C) or TERM ends zkr; a
second signal ends the wait for a server, with the exit code 128+n.
` + cli.GivenBack

// janitor is "zkr job janitor".
func (c *jobCommand) janitor() *cobra.Command {
	var watch bool
	opts := &workerctl.Options{}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.HasRole),
		Use:         "janitor", Short: "Remove jobs that are over or abandoned, once or repeatedly",
		Long: janitorHelp, Args: cli.Arguments("job"),
		Example: "  zkr job janitor\n  zkr job janitor --watch --abandoned 1h",
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			if err := c.check(cmd, "any"); err != nil {
				return err
			}
			if cmd.Flags().Changed("abandoned") {
				c.opts.Abandoned = opts.Abandoned
			}
			if c.opts.Abandoned < 0 {
				return exit.Usage("--abandoned is %v; it must be 0 or more", c.opts.Abandoned)
			}
			if watch {
				return c.app.Serve(cmd.Context(), func(ctx context.Context, client *session.Client) error {
					return workerctl.NewJanitor(client, c.opts).Run(ctx)
				})
			}
			var removed []string
			if err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				removed, err = workerctl.NewJanitor(client, c.opts).Sweep(ctx)
				return err
			}); err != nil {
				return err
			}
			return c.showRemoved(removed)
		}),
	}
	cmd.Flags().DurationVar(&opts.Abandoned, "abandoned", 0, "how long no worker of a job may live before it is abandoned; 0: 10m (ZKR_JOB_ABANDONED)")
	cmd.Flags().BoolVar(&watch, "watch", false, "continue until a signal ends zkr")
	return cmd
}

func (c *jobCommand) showRemoved(removed []string) error {
	if c.app.JSON() {
		return c.app.PrintJSON(struct {
			Removed []string `json:"removed"`
		}{append([]string{}, removed...)})
	}
	if len(removed) == 0 {
		return c.app.NoteEmpty("no job was removed")
	}
	for i, name := range removed {
		removed[i] = cli.Readable([]byte(name))
	}
	return c.app.Printf("%s\n", strings.Join(removed, "\n"))
}
