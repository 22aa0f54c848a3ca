package jobcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

const jobJoinHelp = `Joins the job NAME, and runs CMD as one of its workers. When CMD has ended with 0, the
worker leaves: it has finished its part, and the last worker to finish removes the
job. If CMD ends otherwise, the worker has failed; the next worker that joins under
the same identity gets its id. If other identities have all ids, zkr exits with 75.

The identity is a name that stays the same when CMD is started again, here or
elsewhere. Each worker needs its own identity: a worker that joins under the identity
of a running worker takes its place, and the CMD of the former worker is killed.

CMD's environment has ZKR_WORKER_ID (from 0 up), ZKR_WORKER_COUNT (how many workers
the job had when CMD was started), ZKR_WORKER_IDENTITY, ZKR_WORKER_INCARNATION (how
often a worker has joined under the id), ZKR_WORKER_TOKEN (a fencing token, which
grows with the incarnation), ZKR_WORKER_PATH (the znode that stands for the worker),
ZKR_WORKER_SESSION, ZKR_WORKER_JOB (the job's name), ZKR_WORKER_JOB_ID and
ZKR_JOB_ROOT.

Before zkr exits with 0, it records that the worker has left. While the servers are
away, zkr waits for them until a signal ends the wait.
` + supervise.RunHelp

// jobSpec has the arguments of "zkr job join".
type jobSpec struct {
	supervise.RunSpec
	name     string
	identity workerctl.Identity
	kv       []string
	opts     *workerctl.Options
}

// join is "zkr job join".
func (c *jobCommand) join() *cobra.Command {
	var e jobSpec
	cmd := &cobra.Command{
		Use:   "join NAME [flags] -- CMD [ARGS...]",
		Short: "Run a command as a worker of a job",
		Long:  jobJoinHelp,
		Example: "  zkr job join words --identity $(hostname) -- sh -c './count part-$ZKR_WORKER_ID'\n" +
			"  zkr job join words --address 10.0.0.7:9000 -- sh -c 'zkr job wait words && ./work'",
		Args: cli.BeforeCommand("job", "NAME"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			e.name, e.Argv, e.opts = args[0], args[1:], c.opts
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.Target = supervise.Target{
				Name: "the place in the job " + cli.Readable([]byte(e.name)), ListCommand: c.call("workers", e.name), EnvPrefix: "ZKR_WORKER",
				Acquire: func(ctx context.Context, client *session.Client) (g *supervise.Hold, err error) {
					g, err = e.join(ctx, c.app, client)
					return g, c.advised(e.name, err)
				},
			}
			return supervise.Run(cmd.Context(), c.app.App, &e.RunSpec)
		}),
	}
	e.RunFlags(cmd)
	f, identity := cmd.Flags(), &e.identity
	f.StringVar(&identity.Name, "identity", "", "`text` that identifies the worker, also when CMD is started again; default: the first --address, or the host's name")
	f.StringArrayVar(&identity.Addresses, "address", nil, "`host:port` at which other workers reach the worker; may be repeated")
	f.StringVar(&identity.Node, "node", "", "`name` of the worker's machine")
	f.StringVar(&identity.Rack, "rack", "", "`name` of the worker's rack")
	f.StringVar(&identity.DataCenter, "data-center", "", "`name` of the worker's data center")
	f.StringArrayVar(&e.kv, "kv", nil, "`key=value` that other workers can read; may be repeated")
	return cmd
}

func (e *jobSpec) checkAll(cmd *cobra.Command) (err error) {
	if e.identity.KV, err = pairs("kv", e.kv); err != nil {
		return err
	}
	all := append([]string{e.identity.Name, e.identity.Node, e.identity.Rack, e.identity.DataCenter}, e.identity.Addresses...)
	for _, text := range append(all, e.kv...) {
		if !utf8.ValidString(text) {
			return exit.Usage("%q is not text", text)
		}
	}
	for _, address := range e.identity.Addresses {
		if address == "" {
			return exit.Usage("--address is empty")
		}
	}
	if e.identity.Name == "" && len(e.identity.Addresses) == 0 {
		if e.identity.Name, err = os.Hostname(); err != nil || e.identity.Name == "" {
			return exit.Usage("--identity is missing, and the host's name is unknown")
		}
	}
	return e.Check(cmd)
}

func (e *jobSpec) join(ctx context.Context, a *app, client *session.Client) (*supervise.Hold, error) {
	job, err := workerctl.Attach(ctx, client, e.name, e.opts)
	if err != nil {
		return nil, err
	}
	info, err := job.Info(ctx)
	if err != nil {
		return nil, err
	}
	w, err := job.Join(ctx, e.identity)
	if err != nil {
		return nil, err
	}
	return &supervise.Hold{
		Holdable: w, Token: w.Token(), Patient: true, Finishes: true,
		Release: func(ctx context.Context) error { return e.leave(ctx, a, w) },
		Vars: []string{
			fmt.Sprintf("ZKR_WORKER_ID=%d", w.ID()), fmt.Sprintf("ZKR_WORKER_COUNT=%d", info.Workers),
			fmt.Sprintf("ZKR_WORKER_INCARNATION=%d", w.Incarnation()), "ZKR_WORKER_IDENTITY=" + w.Identity().Name,
			"ZKR_WORKER_JOB=" + job.Name(), "ZKR_WORKER_JOB_ID=" + job.ID(), "ZKR_JOB_ROOT=" + e.opts.Root,
		},
	}, nil
}

// leave records the end of the worker's part. If that fails, zkr fails: the job
// would wait for a worker that believes that it has finished.
func (e *jobSpec) leave(ctx context.Context, a *app, w *workerctl.Worker) error {
	err := w.Leave(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, workerctl.ErrNotRemoved):
		a.Note("%v", err) // the worker has left, and other clients can do the rest
		return nil
	case errors.Is(err, session.ErrLost):
		return &exit.Failure{Code: exit.CodeLost, Err: fmt.Errorf("the command has ended, but %s was lost before that was recorded: %w", e.Target.Name, err)}
	}
	return exit.Classify(fmt.Errorf("the command has ended, but that could not be recorded: %w", err))
}
