package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// kill is "zkr job kill".
func (c *jobCommand) kill() *cobra.Command {
	return c.ending("kill NAME", "End a job, whoever works in it, and remove it",
		`Ends the job NAME: nobody can join it any more, its workers lose their hold, so that
commands under "zkr job join" are killed, and it is removed. A job that is over is
just removed.
`, func(ctx context.Context, job *workerctl.Job) error { return job.Kill(ctx) })
}

// remove is "zkr job rm".
func (c *jobCommand) remove() *cobra.Command {
	return c.ending("rm NAME", "Remove what is left of a job that is over",
		`Removes the job NAME, which is over: where whoever should have removed it, the last
worker that has left or "zkr job kill", did not come to the end. If the job is not
over zkr exits with 75; "zkr job kill" ends it.
`, func(ctx context.Context, job *workerctl.Job) error { return job.Remove(ctx) })
}

func (c *jobCommand) ending(use, short, help string, end func(context.Context, *workerctl.Job) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: help, Example: "  zkr job " + strings.Replace(use, "NAME", "words", 1), Args: arguments("job", "NAME"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			return c.app.visit(cmd.Context(), c.on(args[0], func(ctx context.Context, _ *session.Client, job *workerctl.Job) error {
				return end(ctx, job)
			}))
		}),
	}
}
