package znodecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
)

const keepHelp = `Keeps the znode PATH in existence, with DATA: zkr creates the znode again in the next
session after a lost one, and after any client has deleted the znode or its parents.
Missing parents are created as containers. The word - as DATA stands for stdin, to its
end.

By default the znode is ephemeral: it goes with zkr's session. With --persistent,
--container or --ttl it is of that kind, and several zkr on several machines may keep
the same znode; Curator's PersistentNode and PersistentTtlNode may keep it, too. They
take over an existing znode, whatever its kind. An ephemeral znode is never shared: if
it is another client's, or if an ephemeral znode is to be kept where another one exists,
zkr exits with 75; with --wait zkr waits. With --sequential the znode gets a name of
its own: _c_<uuid>-<last element of PATH><number>.

With CMD, zkr keeps the znode while CMD runs, and deletes the znode when CMD has ended.
CMD is not told of a loss and continues. If no server confirms the deletion, a note on
stderr says so, and zkr exits as CMD did. CMD's environment has ZKR_NODE_PATH.

Without CMD, zkr shows each creation and each loss, until INT (Ctrl-C) or TERM ends it,
and then deletes the znode. Only a TTL znode stays, and expires, and a znode with
children, which is an error unless it is a container. The exit code is 0 only if a
server has confirmed the deletion. If no server confirms it within the session timeout,
zkr exits with 76: an ephemeral znode goes when the servers expire the session, and
others stay until a client deletes them.

TTL znodes need servers that run with -Dzookeeper.extendedTypesEnabled=true.
`

// keep is "zkr keep".
type keep struct {
	supervise.RunSpec
	app                              *app
	ephemeral, persistent, container bool
	sequential                       bool
	path                             string
	data                             []byte
	mode                             session.Mode
	opts                             node.Options
}

// keep makes "zkr keep".
func (a *app) keep() *cobra.Command {
	k := &keep{app: a}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.HasRole, cli.CanBeBusy),
		Use:         "keep PATH [DATA] [flags] [-- CMD [ARGS...]]",
		Short:       "Keep a znode in existence until zkr is ended, or while a command runs",
		Long:        keepHelp,
		Example: "  zkr keep /gateways/eu 10.0.0.7:80 -- ./gateway\n" +
			"  zkr keep /jobs/nightly/running \"$(hostname)\" --ttl 10m --wait\n" +
			"  zkr keep /config --persistent",
		Args: k.arguments,
		RunE: cli.RunE(func(cmd *cobra.Command, _ []string) error {
			if err := k.checkAll(cmd); err != nil {
				return err
			}
			if err := k.readStdin(); err != nil {
				return err
			}
			if k.Argv == nil {
				return a.Serve(cmd.Context(), k.run)
			}
			k.Target = supervise.Target{
				Name: "the znode " + cli.Readable([]byte(k.path)), ListCommand: fmt.Sprintf("\"zkr tree %s\"", cli.Readable([]byte(k.path))),
				EnvPrefix: "ZKR_NODE", Renewed: true, Outlasts: !k.goesWithSession(), Acquire: k.acquire,
			}
			return supervise.Run(cmd.Context(), a.App, &k.RunSpec)
		}),
	}
	k.RunFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&k.ephemeral, "ephemeral", false, "an ephemeral znode: the default")
	f.BoolVar(&k.persistent, "persistent", false, "a persistent znode")
	f.BoolVar(&k.container, "container", false, "a container, which the servers delete some time after its last child has gone")
	f.DurationVar(&k.opts.TTL, "ttl", 0, "a TTL znode, which the servers delete this long after its last keeper has gone; from 1s")
	f.BoolVar(&k.sequential, "sequential", false, "append a number to the name")
	f.BoolVar(&k.opts.Wait, "wait", false, "if another client has the znode, wait until that znode has gone")
	return cmd
}

// arguments takes PATH, DATA and CMD.
func (k *keep) arguments(cmd *cobra.Command, args []string) error {
	before, dash := len(args), cmd.ArgsLenAtDash()
	if dash >= 0 {
		before = dash
	}
	call := cmd.CommandPath() + " PATH [DATA] [-- CMD [ARGS...]]"
	switch {
	case before == 0:
		return exit.Usage("which znode? %s", call)
	case before > 2:
		return exit.Usage("%q is one word too many: %s", args[2], call)
	case dash == len(args):
		return exit.Usage("which command? %s", call)
	}
	if err := cli.CheckPath(args[0]); err != nil {
		return err
	}
	if k.path = args[0]; k.path == "/" {
		return exit.Usage("PATH is /, which always exists")
	}
	if before == 2 {
		k.data = []byte(args[1])
	}
	if dash >= 0 {
		k.Argv = args[dash:]
	}
	return nil
}

// readStdin replaces the data - by stdin.
func (k *keep) readStdin() (err error) {
	if string(k.data) == "-" {
		if k.data, err = io.ReadAll(k.app.Stdin); err != nil {
			return fmt.Errorf("cannot read stdin: %w", err)
		}
	}
	return nil
}

// checkAll checks the flags, and chooses the mode.
func (k *keep) checkAll(cmd *cobra.Command) error {
	ttl, kinds := cmd.Flags().Changed("ttl"), 0
	for _, chosen := range []bool{k.ephemeral, k.persistent, k.container, ttl} {
		if chosen {
			kinds++
		}
	}
	choose := func(mode, sequential session.Mode) {
		if k.mode = mode; k.sequential {
			k.mode = sequential
		}
	}
	switch {
	case kinds > 1:
		return exit.Usage("--ephemeral, --persistent, --container and --ttl exclude each other")
	case k.container && k.sequential:
		return exit.Usage("--container and --sequential exclude each other: servers have no such znodes")
	case ttl && k.opts.TTL < time.Second:
		return exit.Usage("--ttl is %v; it must be 1s or more", k.opts.TTL)
	case k.Argv == nil && cmd.Flags().Changed("grace"):
		return exit.Usage("--grace has no meaning without a command")
	case k.container:
		k.mode = session.Container
	case k.persistent:
		choose(session.Persistent, session.PersistentSequential)
	case ttl:
		choose(session.PersistentTTL, session.PersistentSequentialTTL)
	default:
		choose(session.Ephemeral, session.EphemeralSequential)
	}
	return k.Check(cmd)
}

// goesWithSession reports whether the znode is ephemeral.
func (k *keep) goesWithSession() bool {
	return k.mode == session.Ephemeral || k.mode == session.EphemeralSequential
}

// acquire begins to keep the znode, while CMD runs.
func (k *keep) acquire(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
	kept, err := node.New(client, k.path, k.mode, &k.opts).Keep(ctx, k.data)
	if err != nil {
		return nil, err
	}
	return supervise.HoldRenewed(ctx, k.app.App, supervise.Renewed{
		Name: k.Name, Again: "was created again", Away: "temporarily does not exist", Path: kept.Path, End: kept.Release,
		States: supervise.RenewedStates(kept.States, renewedState),
	}, kept.Token()), nil
}

func renewedState(s node.State) supervise.RenewedState {
	return supervise.RenewedState{Exists: s.Exists, Token: s.Token, Err: s.Err}
}

// run keeps the znode without CMD, until ctx ends.
func (k *keep) run(ctx context.Context, client *session.Client) error {
	kept, err := k.awaitZnode(ctx, client)
	if err != nil {
		return err
	}
	for s, err := range kept.States(ctx) {
		if err != nil {
			break // ctx has ended
		}
		if err := k.show(s); err != nil {
			return errors.Join(err, k.release(ctx, kept))
		}
	}
	return k.release(ctx, kept)
}

// awaitZnode waits for the znode as long as the flags allow.
func (k *keep) awaitZnode(ctx context.Context, client *session.Client) (*node.Kept, error) {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if d := k.Timeout(); d > 0 {
		waiting, cancel = context.WithTimeout(ctx, d)
	}
	defer cancel()
	kept, err := node.New(client, k.path, k.mode, &k.opts).Keep(waiting, k.data)
	name, err := cli.Readable([]byte(k.path)), cli.WithOutage(client, err)
	switch {
	case err == nil:
		return kept, nil
	case ctx.Err() != nil:
		return nil, signals.Interrupted(context.Cause(ctx), "gave up waiting for the znode %s", name)
	case errors.As(err, new(*cli.ConnectionError)):
		return nil, &exit.Failure{Code: exit.CodeUnavailable, Err: fmt.Errorf("did not get the znode %s: %w", name, err)}
	case waiting.Err() != nil:
		return nil, &exit.Failure{Code: exit.CodeBusy, Err: fmt.Errorf("did not get the znode %s within %v: %w", name, k.Timeout(), err)}
	}
	return nil, err
}

// release deletes the znode.
func (k *keep) release(ctx context.Context, kept *node.Kept) error {
	before := kept.State()
	err := kept.Release(context.WithoutCancel(ctx))
	if err == nil && k.goesWithSession() {
		err = supervise.Unconfirmed(renewedState(before))
	}
	if k.goesWithSession() || !errors.Is(err, session.ErrLost) {
		return err
	}
	return &exit.Failure{ // without the hint that the end of the session helps
		Code: exit.CodeLost, Err: errors.New("not everything was given back: " + err.Error()),
		Hint: fmt.Sprintf("\"zkr rm %s\" deletes the znode, if it still exists", cli.Readable([]byte(kept.Path()))),
	}
}

// KeptState is the state of a kept znode in JSON.
type KeptState struct {
	Time   time.Time `json:"time"`
	Path   string    `json:"path"`
	Exists bool      `json:"exists"`
	Token  int64     `json:"token,string"` // of the last znode, if none exists
	// Reason says why the znode does not exist, or why it cannot be refreshed.
	Reason string `json:"reason,omitempty"`
}

// show shows a state.
func (k *keep) show(s node.State) error {
	now := KeptState{Time: s.Since, Path: s.Path, Exists: s.Exists, Token: s.Token}
	if s.Err != nil {
		now.Reason = s.Err.Error()
	}
	path, reason := cli.Readable([]byte(now.Path)), cli.Readable([]byte(now.Reason))
	switch {
	case k.app.JSON():
		return k.app.PrintJSON(now)
	case !now.Exists:
		return k.app.Printf("%s  missing  %s  %s\n", cli.Timestamp(now.Time), path, reason)
	case now.Reason != "":
		return k.app.Printf("%s  exists   %s  token %d, but cannot be refreshed: %s\n", cli.Timestamp(now.Time), path, now.Token, reason)
	}
	return k.app.Printf("%s  exists   %s  token %d\n", cli.Timestamp(now.Time), path, now.Token)
}
