package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

const submitHelp = `Submits the job NAME, which workers can join from then on, and shows its id, which no
other job has. A job of this name that is over is removed before, and so is one
none of whose workers has lived for --abandoned: that time begins when somebody
looks for the first time, as this command does. If one is running, or waits for
its workers, zkr exits with 75.
`

// submit is "zkr job submit".
func (c *jobCommand) submit() *cobra.Command {
	var spec workerctl.Spec
	var meta []string
	var abandoned time.Duration
	cmd := &cobra.Command{
		Use:     "submit NAME --workers N",
		Short:   "Submit a job of N workers",
		Long:    submitHelp,
		Example: "  zkr job submit words --workers 4 --meta owner=me --meta input=s3://texts",
		Args:    arguments("job", "NAME"),
		RunE: does(func(cmd *cobra.Command, args []string) (err error) {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			spec.Name = args[0]
			if spec.Metadata, err = pairs("meta", meta); err != nil {
				return err
			}
			switch {
			case spec.Workers < 1:
				return usage("--workers is %d; say how many the job has, 1 or more", spec.Workers)
			case cmd.Flags().Changed("abandoned") && abandoned <= 0:
				return usage("--abandoned is %v; it must be above 0", abandoned)
			case abandoned > 0:
				c.opts.Abandoned = abandoned
			}
			return c.submitted(cmd.Context(), spec)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&spec.Workers, "workers", 0, "how many workers the job has: `N`")
	f.BoolVar(&spec.ReuseIDs, "reuse-ids", false, "the id of a worker that has left goes to the next one that joins")
	f.StringArrayVar(&meta, "meta", nil, "`key=value` for whoever looks at the job; may be repeated")
	f.DurationVar(&abandoned, "abandoned", 0, "how long no worker of a former job may live (ZKR_JOB_ABANDONED); default: 10m")
	return cmd
}

func (c *jobCommand) submitted(ctx context.Context, spec workerctl.Spec) error {
	var job *workerctl.Job
	err := c.app.visit(ctx, func(ctx context.Context, client *session.Client) (err error) {
		job, err = workerctl.Submit(ctx, client, spec, c.opts)
		return c.advised(spec.Name, c.waits(ctx, client, spec.Name, err))
	})
	switch {
	case err != nil:
		return err
	case c.app.json():
		return c.app.line(struct {
			Name    string `json:"name"`
			ID      string `json:"id"`
			Workers int    `json:"workers"`
			Path    string `json:"path"`
		}{job.Name(), job.ID(), spec.Workers, job.Path()})
	}
	return c.app.printf("%s\n", job.ID())
}

// list is "zkr job ls".
func (c *jobCommand) list() *cobra.Command {
	return &cobra.Command{
		Use:   "ls [flags]",
		Short: "Show the jobs: how they stand, and how many workers have joined, run and have left",
		Long: "Shows the jobs below --root. STATE is submitted, running, finished, killed or abandoned;\n" +
			"of its WORKERS so many have ever joined, run now, and have left. CREATED is by the clock\n" +
			"of who submitted the job.",
		Example: "  zkr job ls\n  zkr job ls -o json | jq -r '.jobs[] | select(.state == \"running\") | .name'",
		Args:    cobra.NoArgs,
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			if err := c.check(cmd); err != nil {
				return err
			}
			var found []workerctl.Info
			err := c.app.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = workerctl.List(ctx, client, c.opts)
				return err
			})
			if err != nil && len(found) == 0 {
				return err
			}
			// Jobs that may not be read hide none that may.
			list := make([]jobInfo, 0, len(found))
			for _, in := range found {
				list = append(list, jobOf(in))
			}
			return errors.Join(c.showJobs(list), err)
		}),
	}
}

func (c *jobCommand) showJobs(list []jobInfo) error {
	if c.app.json() {
		return c.app.line(struct {
			Root string    `json:"root"`
			Jobs []jobInfo `json:"jobs"`
		}{c.root, list})
	}
	if len(list) == 0 {
		return c.app.empty("there are no jobs below %s", c.root)
	}
	rows := make([][]string, 0, len(list))
	for _, j := range list {
		rows = append(rows, []string{
			readable([]byte(j.Name)), shortID(j.ID), readable([]byte(j.State)), strconv.Itoa(j.Joined), strconv.Itoa(j.Running),
			strconv.Itoa(j.Left), strconv.Itoa(j.Workers), clock(j.Created), age(j.Created),
		})
	}
	return c.app.table(jobColumns, rows)
}

// shortID is enough of a job's id to tell those in a list apart.
func shortID(id string) string { return readable([]byte(id[:min(len(id), 8)])) }
