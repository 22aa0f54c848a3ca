package main

import (
	"context"
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceHelp = `Groups that share resources out among their members: each resource has one owner at a
time. A resource is a name, that of a queue, a partition, a file. When members or
resources come and go, one of the members, the coordinator, decides anew who gets
what; only what moves is touched.

Programs take part through the package rebalanser, commands through "zkr group join",
which runs one per resource. GROUP is a path, such as /rebalanser/orders.
`

// rebalance is what the commands of "zkr group" have in common.
type rebalance struct {
	app  *app
	path string
	mode string // --mode; "": that of the group, or the default
}

// rebalance is "zkr group".
func (a *app) rebalance() *cobra.Command {
	return family(&cobra.Command{
		Use:   "group",
		Short: "Share resources out among members, so that each has one owner at a time",
		Long:  rebalanceHelp,
		Example: "  zkr group add /rebalanser/orders orders-1 orders-2 orders-3\n" +
			"  zkr group join /rebalanser/orders -- sh -c './consume $ZKR_RESOURCE'\n" +
			"  zkr group ls /rebalanser/orders\n" +
			"  zkr group status /rebalanser/orders --watch",
	}, a.rebalanceAdd(), a.rebalanceRemove(), a.rebalanceList(), a.rebalanceStatus(), a.rebalancePause(), a.rebalanceResume(), a.rebalanceJoin())
}

// check checks the group's path, which is the first argument.
func (c *rebalance) check(args []string) error {
	if err := checkPath(args[0]); err != nil {
		return err
	}
	if args[0] == "/" {
		return usage("GROUP is /; it must be a path below it")
	}
	c.path = args[0]
	return nil
}

// modeFlag is the flag of those that may make the group.
func (c *rebalance) modeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.mode, "mode", "", "the `mode` in which no resource gets two owners: resource, with a barrier for each, or "+
		"global, with one for all; default: that of the group, and resource if there is none yet")
	oneOf(cmd, "mode", modes()...)
}

func modes() []string {
	return []string{rebalanser.ResourceBarrier.String(), rebalanser.GlobalBarrier.String()}
}

func (c *rebalance) checkMode() error {
	if c.mode == "" || c.mode == modes()[0] || c.mode == modes()[1] {
		return nil
	}
	return usage("--mode is %q; it must be resource or global", c.mode)
}

// make makes the group, if there is none, and returns its mode.
func (c *rebalance) make(ctx context.Context, client *session.Client, o rebalanser.Options) (rebalanser.Mode, error) {
	o.Mode = rebalanser.ResourceBarrier
	if c.mode == modes()[1] {
		o.Mode = rebalanser.GlobalBarrier
	}
	err := rebalanser.Open(client, c.path, &o).Create(ctx)
	if c.mode == "" && errors.Is(err, rebalanser.ErrMode) {
		return rebalanser.GlobalBarrier, nil // there are two
	}
	return o.Mode, err
}

// with is a task with the group.
func (c *rebalance) with(o *rebalanser.Options, do func(context.Context, *rebalanser.Admin) error) task {
	return func(ctx context.Context, client *session.Client) error {
		return c.advised(do(ctx, rebalanser.Open(client, c.path, o)))
	}
}

// advised adds to an error what to do about it.
func (c *rebalance) advised(err error) error {
	switch {
	case errors.Is(err, rebalanser.ErrNoGroup):
		return &failure{code: exitFailed, err: err, hint: `"zkr group add ` + readable([]byte(c.path)) + ` RESOURCE..." makes it`}
	case errors.Is(err, rebalanser.ErrInstanceInUse):
		return &failure{code: exitBusy, err: err, hint: c.look() + " says by whom; --instance-wait says how long to wait"}
	}
	return err
}

// look is the command that shows who is there.
func (c *rebalance) look() string { return `"zkr group status ` + readable([]byte(c.path)) + `"` }

// resourceNames checks names of resources.
func resourceNames(names []string) error {
	for _, name := range names {
		if err := checkShort("RESOURCE", name); err != nil {
			return err
		}
	}
	return nil
}

// patterns checks patterns of names.
func patterns(list []string) error {
	for _, p := range list {
		if _, err := path.Match(p, ""); err != nil || p == "" || !utf8.ValidString(p) {
			return usage("--subscribe is %.60q; it must be a pattern such as orders-*", p)
		}
	}
	return nil
}

// isText checks a flag's value.
func isText(flag, value string) error {
	if !utf8.ValidString(value) {
		return usage("--%s is %q; it must be text", flag, value)
	}
	return nil
}

// lines are the words of a text, one per line.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			out = append(out, line)
		}
	}
	return out
}
