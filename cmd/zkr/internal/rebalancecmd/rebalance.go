package rebalancecmd

import (
	"context"
	"errors"
	"path"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceHelp = `Groups that share resources among their members: each resource has one owner at a
time. A resource is a name, such as the name of a queue, a partition or a file. When
members or resources are added or removed, one of the members, the coordinator,
assigns the resources again, and moves as few of them as possible.

Programs take part through the package rebalanser, commands through "zkr rebalance
join", which runs one command per resource. GROUP is a path, such as
/rebalanser/orders.
`

// rebalance is shared by the commands of "zkr rebalance".
type rebalance struct {
	app  *app
	path string
	mode string // --mode; "": the group's mode, or the default
}

// rebalance is "zkr rebalance".
func (a *app) rebalance() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "rebalance",
		Short: "Share resources out among members, so that each resource has one owner at a time",
		Long:  rebalanceHelp,
		Example: "  zkr rebalance add /rebalanser/orders orders-1 orders-2 orders-3\n" +
			"  zkr rebalance join /rebalanser/orders -- sh -c './consume $ZKR_RESOURCE'\n" +
			"  zkr rebalance ls /rebalanser/orders\n" +
			"  zkr rebalance status /rebalanser/orders --watch",
	}, a.rebalanceAdd(), a.rebalanceRemove(), a.rebalanceList(), a.rebalanceStatus(), a.rebalancePause(), a.rebalanceResume(), a.rebalanceJoin())
}

// check checks the group's path, the first argument.
func (c *rebalance) check(args []string) error {
	if err := cli.CheckPath(args[0]); err != nil {
		return err
	}
	if args[0] == "/" {
		return exit.Usage("GROUP is /; it must be a path below it")
	}
	c.path = args[0]
	return nil
}

// modeFlag is the flag of commands that may create the group.
func (c *rebalance) modeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.mode, "mode", "", "the `mode` that keeps a resource from getting two owners: resource (a barrier for each resource) "+
		"or global (one barrier for all); default: the mode of the group, or resource for a new group")
	cli.OneOf(cmd, "mode", Modes()...)
}

// Modes are the values of --mode.
func Modes() []string {
	return []string{rebalanser.ResourceBarrier.String(), rebalanser.GlobalBarrier.String()}
}

func (c *rebalance) checkMode() error {
	if c.mode == "" || c.mode == Modes()[0] || c.mode == Modes()[1] {
		return nil
	}
	return exit.Usage("--mode is %q; it must be resource or global", c.mode)
}

// make makes the group, if it does not exist, and returns its mode.
func (c *rebalance) make(ctx context.Context, client *session.Client, o rebalanser.Options) (rebalanser.Mode, error) {
	o.Mode = rebalanser.ResourceBarrier
	if c.mode == Modes()[1] {
		o.Mode = rebalanser.GlobalBarrier
	}
	err := rebalanser.Open(client, c.path, &o).Create(ctx)
	if c.mode == "" && errors.Is(err, rebalanser.ErrMode) {
		return rebalanser.GlobalBarrier, nil // there are two modes
	}
	return o.Mode, err
}

// with is a task with the group.
func (c *rebalance) with(o *rebalanser.Options, do func(context.Context, *rebalanser.Admin) error) cli.Action {
	return func(ctx context.Context, client *session.Client) error {
		return c.advised(do(ctx, rebalanser.Open(client, c.path, o)))
	}
}

// advised adds advice to an error.
func (c *rebalance) advised(err error) error {
	switch {
	case errors.Is(err, rebalanser.ErrNoGroup):
		return &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: `"zkr rebalance add ` + cli.Readable([]byte(c.path)) + ` RESOURCE..." creates it`}
	case errors.Is(err, rebalanser.ErrInstanceInUse):
		return &exit.Failure{Code: exit.CodeBusy, Err: err, Hint: c.statusCommand() + " shows the members; --instance-wait sets how long to wait"}
	}
	return err
}

// statusCommand is the command that shows the members.
func (c *rebalance) statusCommand() string {
	return `"zkr rebalance status ` + cli.Readable([]byte(c.path)) + `"`
}

// resourceNames checks names of resources.
func resourceNames(names []string) error {
	for _, name := range names {
		if err := cli.CheckName("RESOURCE", name); err != nil {
			return err
		}
	}
	return nil
}

// patterns checks patterns of names.
func patterns(list []string) error {
	for _, p := range list {
		if _, err := path.Match(p, ""); err != nil || p == "" || !utf8.ValidString(p) {
			return exit.Usage("--subscribe is %.60q; it must be a pattern such as orders-*", p)
		}
	}
	return nil
}
