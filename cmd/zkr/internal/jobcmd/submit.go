package jobcmd

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

const submitHelp = `Submits the job NAME, which workers can then join, and shows its id, which no other
job has. A job of the same name that has ended is removed first, and so is a job
without a living worker for --abandoned; that time starts with the first look at the
job, which this command may be. If a job of this name is running or waits for its
workers, zkr exits with 75.
`

// submit is "zkr job submit".
func (c *jobCommand) submit() *cobra.Command {
	var spec workerctl.Spec
	var meta []string
	var abandoned time.Duration
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.NeedsFreeName),
		Use:         "submit NAME --workers N",
		Short:       "Submit a job of N workers",
		Long:        submitHelp,
		Example:     "  zkr job submit words --workers 4 --meta owner=me --meta input=s3://texts",
		Args:        cli.Arguments("job", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) (err error) {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			spec.Name = args[0]
			if spec.Metadata, err = pairs("meta", meta); err != nil {
				return err
			}
			switch {
			case spec.Workers < 1:
				return exit.Usage("--workers is %d; it must be the number of workers, 1 or more", spec.Workers)
			case cmd.Flags().Changed("abandoned") && abandoned <= 0:
				return exit.Usage("--abandoned is %v; it must be above 0", abandoned)
			case abandoned > 0:
				c.opts.Abandoned = abandoned
			}
			return c.submitted(cmd.Context(), spec)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&spec.Workers, "workers", 0, "how many workers the job has: `N`")
	f.BoolVar(&spec.ReuseIDs, "reuse-ids", false, "give the id of a worker that has left to the next worker that joins")
	f.StringArrayVar(&meta, "meta", nil, "`key=value` that \"zkr job ls -o json\" shows; may be repeated")
	f.DurationVar(&abandoned, "abandoned", 0, "how long no worker of a former job may live (ZKR_JOB_ABANDONED); default: 10m")
	return cmd
}

func (c *jobCommand) submitted(ctx context.Context, spec workerctl.Spec) error {
	var job *workerctl.Job
	err := c.app.Call(ctx, func(ctx context.Context, client *session.Client) (err error) {
		job, err = workerctl.Submit(ctx, client, spec, c.opts)
		return c.advised(spec.Name, c.waits(ctx, client, spec.Name, err))
	})
	switch {
	case err != nil:
		return err
	case c.app.JSON():
		return c.app.PrintJSON(struct {
			Name    string `json:"name"`
			ID      string `json:"id"`
			Workers int    `json:"workers"`
			Path    string `json:"path"`
		}{job.Name(), job.ID(), spec.Workers, job.Path()})
	}
	return c.app.Printf("%s\n", job.ID())
}

// list is "zkr job ls".
func (c *jobCommand) list() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.Reads),
		Use:         "ls [flags]",
		Short:       "List the jobs, each with its state and the number of its workers",
		Long: "Shows the jobs below --root. STATE is submitted, running, finished, failed, killed or\n" +
			"abandoned. JOINED is how many of the job's WORKERS have ever joined, RUNNING how many run\n" +
			"now, LEFT how many have finished their part, and FAILED how many have left with a\n" +
			"failure. CREATED is by the clock of the client that submitted the job.",
		Example: "  zkr job ls\n  zkr job ls -o json | jq -r '.jobs[] | select(.state == \"running\") | .name'",
		Args:    cobra.NoArgs,
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			if err := c.check(cmd); err != nil {
				return err
			}
			var found []workerctl.Info
			err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = workerctl.List(ctx, client, c.opts)
				return err
			})
			if err != nil && len(found) == 0 {
				return err
			}
			// Jobs that may not be read hide no others.
			list := make([]Info, 0, len(found))
			for _, in := range found {
				list = append(list, jobOf(in))
			}
			return errors.Join(c.showJobs(list), err)
		}),
	}
}

func (c *jobCommand) showJobs(list []Info) error {
	if c.app.JSON() {
		return c.app.PrintJSON(struct {
			Root string `json:"root"`
			Jobs []Info `json:"jobs"`
		}{c.root, list})
	}
	if len(list) == 0 {
		return c.app.NoteEmpty("there are no jobs below %s", c.root)
	}
	rows := make([][]string, 0, len(list))
	for _, j := range list {
		rows = append(rows, []string{
			cli.Readable([]byte(j.Name)), shortID(j.ID), cli.Readable([]byte(j.State)), strconv.Itoa(j.Joined), strconv.Itoa(j.Running),
			strconv.Itoa(j.Left), strconv.Itoa(j.Failed), strconv.Itoa(j.Workers), cli.LocalTime(j.Created), cli.Age(j.Created),
		})
	}
	return c.app.Table(Columns, rows)
}

// shortID is enough of a job's id to distinguish the jobs in a list.
func shortID(id string) string { return cli.Readable([]byte(id[:min(len(id), 8)])) }
