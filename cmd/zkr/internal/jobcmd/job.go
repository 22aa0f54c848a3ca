package jobcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

const jobHelp = `Jobs whose workers have the ids 0 to N-1 without a gap. A job is submitted with its
number of workers. A worker joins under an identity, a name that stays the same when
the worker is restarted, and so gets its id again. The job is finished when all
workers have joined and then left because their parts were finished; the last worker
removes the job. A worker that has died has not left: the job waits until the worker
comes back.

Programs take part through the package workerctl, commands through "zkr job join".

Environment (flags take precedence): ZKR_JOB_ROOT is --root, ZKR_JOB_JOIN_WAIT the
--timeout of "zkr job wait --for joined", ZKR_JOB_ABANDONED the --abandoned of "zkr
job submit".
`

// jobCommand is shared by the commands of "zkr job".
type jobCommand struct {
	app  *app
	root string
	opts *workerctl.Options // once the flags are checked
}

// job is "zkr job".
func (a *app) job() *cobra.Command {
	c := &jobCommand{app: a}
	cmd := cli.CommandGroup(&cobra.Command{
		Use:   "job",
		Short: "Manage jobs, whose workers are numbered without a gap",
		Long:  jobHelp,
		Example: "  zkr job submit words --workers 4\n" +
			"  zkr job join words --identity $(hostname) -- sh -c './count part-$ZKR_WORKER_ID'\n" +
			"  zkr job workers words --watch\n" +
			"  zkr job wait words --for finished --timeout 1h && ./publish\n" +
			"  zkr job kill words",
	}, c.submit(), c.list(), c.workers(), c.wait(), c.join(), c.kill(), c.remove(), c.janitor())
	for _, sub := range cmd.Commands() {
		if len(cli.ArgumentNames(sub)) > 0 {
			sub.ValidArgsFunction = a.CompleteNames(c.names)
		}
	}
	cmd.PersistentFlags().StringVar(&c.root, "root", jobformat.DefaultRoot, "`path` that all jobs are below (ZKR_JOB_ROOT)")
	return cmd
}

// names are the names of all jobs.
func (c *jobCommand) names(ctx context.Context, client *session.Client) (out []string, err error) {
	if root := c.app.Getenv("ZKR_JOB_ROOT"); root != "" && c.root == jobformat.DefaultRoot {
		c.root = root
	}
	found, err := workerctl.List(ctx, client, &workerctl.Options{Root: c.root})
	for _, in := range found {
		out = append(out, in.Name)
	}
	slices.Sort(out)
	return out, err
}

// check checks the job's name, for commands with a name, and the options of all
// commands, environment included.
func (c *jobCommand) check(cmd *cobra.Command, names ...string) (err error) {
	flags := map[string]string{"ZKR_JOB_ROOT": "root", "ZKR_JOB_JOIN_WAIT": "timeout", "ZKR_JOB_ABANDONED": "abandoned"}
	c.opts, err = workerctl.OptionsFromEnv(func(name string) string {
		if flag, ok := flags[name]; ok && cmd.Flags().Changed(flag) {
			return ""
		}
		return c.app.Getenv(name)
	})
	if err != nil {
		return exit.Usage("%w", err)
	}
	if c.opts.Root != "" {
		c.root = c.opts.Root
	}
	c.opts.Root = c.root
	if err := cli.CheckPath(c.root); err != nil {
		return exit.Usage("--root: %w", err)
	}
	if c.root == "/" {
		return exit.Usage("--root is /; it must be a path below it")
	}
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return exit.Usage("NAME is %q; it must be text", name)
		}
	}
	return nil
}

// call is a command line for people.
func (c *jobCommand) call(sub, name string) string {
	line := "zkr job " + sub
	if name != "" {
		line += " " + cli.Readable([]byte(name))
	}
	if c.root != jobformat.DefaultRoot {
		line += " --root " + c.root
	}
	return `"` + line + `"`
}

// on makes an action on the present job of that name: a job that is submitted
// under the name later is another job.
func (c *jobCommand) on(name string, do func(context.Context, *session.Client, *workerctl.Job) error) cli.Action {
	return func(ctx context.Context, client *session.Client) error {
		job, err := workerctl.Attach(ctx, client, name, c.opts)
		if err == nil {
			err = do(ctx, client, job)
		}
		return c.advised(name, c.waits(ctx, client, name, err))
	}
}

// waits returns err, except for a running job that waits for its workers: the
// error then has the words of "zkr job ls".
func (c *jobCommand) waits(ctx context.Context, client *session.Client, name string, err error) error {
	if !errors.Is(err, workerctl.ErrRunning) {
		return err
	}
	job, e := workerctl.Attach(ctx, client, name, c.opts)
	if e != nil {
		return err
	}
	if in, e := job.Info(ctx); e != nil || in.State != "submitted" {
		return err
	}
	return &exit.Failure{
		Code: exit.CodeBusy, Err: fmt.Errorf("the job %s is submitted, and waits for its workers", cli.Readable([]byte(name))), Hint: c.killHint(name),
	}
}

func (c *jobCommand) killHint(name string) string {
	return c.call("kill", name) + " ends the job, also while workers run, and removes it"
}

// advised adds advice to an error.
func (c *jobCommand) advised(name string, err error) error {
	var hint string
	switch {
	case errors.As(err, new(*exit.Failure)), errors.Is(err, session.ErrNoAuth):
		return err
	case errors.Is(err, workerctl.ErrNotRemoved):
		hint = c.call("rm", name) + " completes the removal"
	case errors.Is(err, workerctl.ErrNoJob):
		hint = c.call("ls", "") + " lists the jobs; a finished job is removed"
	case errors.Is(err, workerctl.ErrRunning):
		hint = c.killHint(name)
	default:
		return err
	}
	return &exit.Failure{Code: exit.Classify(err).Code, Err: err, Hint: hint}
}

// Info is a workerctl.Info in JSON.
type Info struct {
	Name     string            `json:"name"`
	ID       string            `json:"id"`
	State    workerctl.State   `json:"state"` // submitted, running, finished, failed, killed, abandoned
	Workers  int               `json:"workers"`
	Joined   int               `json:"joined"` // ids given out
	Running  int               `json:"running"`
	Left     int               `json:"left"`   // without Failed
	Failed   int               `json:"failed"` // have left with a failure
	ReuseIDs bool              `json:"reuse_ids"`
	Metadata map[string]string `json:"metadata"`
	Created  time.Time         `json:"created"` // by the clock of the submitting client
	Path     string            `json:"path"`
}

// Columns are the columns of the table.
const Columns = "NAME ID STATE JOINED RUNNING LEFT FAILED WORKERS CREATED AGE"

func jobOf(in workerctl.Info) Info {
	if in.Metadata == nil {
		in.Metadata = map[string]string{}
	}
	return Info{
		Name: in.Name, ID: in.ID, State: in.State, Workers: in.Workers, Joined: in.Joined, Running: in.Running,
		Left: in.Left - in.Failed, Failed: in.Failed, ReuseIDs: in.ReuseIDs, Metadata: in.Metadata, Created: in.Created, Path: in.Path,
	}
}

// pairs makes a map of arguments of the form key=value.
func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		_, twice := out[key]
		switch {
		case !ok || key == "":
			return nil, exit.Usage("--%s is %q; it must be key=value", flag, text)
		case twice:
			return nil, exit.Usage("--%s %s is given twice", flag, key)
		}
		out[key] = value
	}
	return out, nil
}

// formatRanges writes numbers as "0-3, 7".
func formatRanges(ids []int) string {
	ids = slices.Sorted(slices.Values(ids))
	var out []string
	for i := 0; i < len(ids); {
		end := i
		for end+1 < len(ids) && ids[end+1] == ids[end]+1 {
			end++
		}
		text := strconv.Itoa(ids[i])
		if end > i {
			text += fmt.Sprintf("-%d", ids[end])
		}
		out, i = append(out, text), end+1
	}
	return strings.Join(out, ", ")
}
