package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

const jobJoinHelp = `Joins the job NAME, runs CMD, and leaves when CMD has ended with 0: the worker has
finished its part, and the last one to finish removes the job. If CMD ends otherwise
the worker has failed; whoever joins under its identity next has its id. If all ids
are given to other identities zkr exits with 75.

The identity is a name that stays when CMD is started anew, here or elsewhere. It
must differ from those of all other workers: who joins under the identity of one
that runs takes its place, and that one's CMD is killed.

In CMD's environment are ZKR_WORKER_ID (from 0 up), ZKR_WORKER_COUNT (how many
workers the job had when CMD was started), ZKR_WORKER_IDENTITY,
ZKR_WORKER_INCARNATION (how often somebody has joined under the id),
ZKR_WORKER_TOKEN (a fencing token, which grows with it), ZKR_WORKER_PATH (the znode
that stands for the worker), ZKR_WORKER_SESSION, ZKR_WORKER_JOB (the job's name),
ZKR_WORKER_JOB_ID and ZKR_JOB_ROOT.

That the worker has left is recorded before zkr exits with 0; while the servers are
away it waits for them, until a signal.
` + errandHelp

// jobErrand is what "zkr job join" is asked to do.
type jobErrand struct {
	errand
	name string
	who  workerctl.Identity
	kv   []string
	opts *workerctl.Options
}

// join is "zkr job join".
func (c *jobCommand) join() *cobra.Command {
	var e jobErrand
	cmd := &cobra.Command{
		Use:   "join NAME [flags] -- CMD [ARGS...]",
		Short: "Run a command as a worker of a job",
		Long:  jobJoinHelp,
		Example: "  zkr job join words --identity $(hostname) -- sh -c './count part-$ZKR_WORKER_ID'\n" +
			"  zkr job join words --address 10.0.0.7:9000 -- sh -c 'zkr job wait words && ./work'",
		Args: beforeCommand("job", "NAME"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args[0]); err != nil {
				return err
			}
			e.name, e.argv, e.opts = args[0], args[1:], c.opts
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.aim = aim{
				name: "the place in the job " + readable([]byte(e.name)), look: c.call("workers", e.name), env: "ZKR_WORKER",
				get: func(ctx context.Context, client *session.Client) (g *grant, err error) {
					g, err = e.join(ctx, c.app, client)
					return g, c.advised(e.name, err)
				},
			}
			return c.app.carryOut(cmd.Context(), &e.errand)
		}),
	}
	e.runFlags(cmd)
	f, who := cmd.Flags(), &e.who
	f.StringVar(&who.Name, "identity", "", "`text` that tells the worker from others, and stays; default: the first --address, else the host's name")
	f.StringArrayVar(&who.Addresses, "address", nil, "`host:port` where the worker can be reached; may be repeated")
	f.StringVar(&who.Node, "node", "", "`name` of the machine it runs on")
	f.StringVar(&who.Rack, "rack", "", "`name` of the rack")
	f.StringVar(&who.DataCenter, "data-center", "", "`name` of the data center")
	f.StringArrayVar(&e.kv, "kv", nil, "`key=value` for the others to see; may be repeated")
	return cmd
}

func (e *jobErrand) checkAll(cmd *cobra.Command) (err error) {
	if e.who.KV, err = pairs("kv", e.kv); err != nil {
		return err
	}
	all := append([]string{e.who.Name, e.who.Node, e.who.Rack, e.who.DataCenter}, e.who.Addresses...)
	for _, text := range append(all, e.kv...) {
		if !utf8.ValidString(text) {
			return usage("%q is no text", text)
		}
	}
	for _, address := range e.who.Addresses {
		if address == "" {
			return usage("--address is empty")
		}
	}
	if e.who.Name == "" && len(e.who.Addresses) == 0 {
		if e.who.Name, err = os.Hostname(); err != nil || e.who.Name == "" {
			return usage("--identity is missing, and the host's name cannot be found out")
		}
	}
	return e.check(cmd)
}

func (e *jobErrand) join(ctx context.Context, a *app, client *session.Client) (*grant, error) {
	job, err := workerctl.Attach(ctx, client, e.name, e.opts)
	if err != nil {
		return nil, err
	}
	info, err := job.Info(ctx)
	if err != nil {
		return nil, err
	}
	w, err := job.Join(ctx, e.who)
	if err != nil {
		return nil, err
	}
	return &grant{
		holdable: w, token: w.Token(), patient: true, finishes: true,
		release: func(ctx context.Context) error { return e.leave(ctx, a, w) },
		vars: []string{
			fmt.Sprintf("ZKR_WORKER_ID=%d", w.ID()), fmt.Sprintf("ZKR_WORKER_COUNT=%d", info.Workers),
			fmt.Sprintf("ZKR_WORKER_INCARNATION=%d", w.Incarnation()), "ZKR_WORKER_IDENTITY=" + w.Identity().Name,
			"ZKR_WORKER_JOB=" + job.Name(), "ZKR_WORKER_JOB_ID=" + job.ID(), "ZKR_JOB_ROOT=" + e.opts.Root,
		},
	}, nil
}

// leave records that the worker has finished its part. If that fails zkr fails:
// the job would wait for a worker that believes it has finished.
func (e *jobErrand) leave(ctx context.Context, a *app, w *workerctl.Worker) error {
	err := w.Leave(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, workerctl.ErrNotRemoved):
		a.note("%v", err) // it has left, and others can do the rest
		return nil
	case errors.Is(err, session.ErrLost):
		return &failure{code: exitLost, err: fmt.Errorf("the command has ended, but %s was lost before that was recorded: %w", e.aim.name, err)}
	}
	return classify(fmt.Errorf("the command has ended, but that could not be recorded: %w", err))
}
