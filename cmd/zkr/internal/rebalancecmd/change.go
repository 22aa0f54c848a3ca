package rebalancecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceAddHelp = `Adds resources to GROUP, and creates GROUP if it does not exist. RESOURCE - stands
for names on stdin, one per line. Resources that GROUP already has stay unchanged.
`

// rebalanceAdd is "zkr rebalance add".
func (a *app) rebalanceAdd() *cobra.Command {
	c := &rebalance{app: a}
	cmd := c.changing("add", "Add resources to a group, and create the group", rebalanceAddHelp,
		func(ctx context.Context, client *session.Client, names []string) (done []string, err error) {
			if c.mode == "" { // most have been made before
				done, err = rebalanser.Open(client, c.path, nil).AddResources(ctx, names...)
				if !errors.Is(err, rebalanser.ErrNoGroup) {
					return done, err
				}
			}
			if _, err := c.make(ctx, client, rebalanser.Options{}); err != nil {
				return nil, err
			}
			return rebalanser.Open(client, c.path, nil).AddResources(ctx, names...)
		})
	cmd.Example = "  zkr rebalance add /rebalanser/orders orders-1 orders-2\n" +
		"  seq -f 'part-%g' 1000 | zkr rebalance add /rebalanser/log -"
	c.modeFlag(cmd)
	return cmd
}

const rebalanceRemoveHelp = `Removes resources from GROUP. The owners are told to release the resources. Until an
owner has released a resource, no other member owns it, even if the resource is added
again. RESOURCE - stands for names on stdin, one per line.
`

// rebalanceRemove is "zkr rebalance remove".
func (a *app) rebalanceRemove() *cobra.Command {
	c := &rebalance{app: a}
	cmd := c.changing("remove", "Remove resources from a group", rebalanceRemoveHelp,
		func(ctx context.Context, client *session.Client, names []string) ([]string, error) {
			return rebalanser.Open(client, c.path, nil).RemoveResources(ctx, names...)
		})
	cmd.Example = "  zkr rebalance remove /rebalanser/orders orders-2"
	return cmd
}

// changing makes a command that adds or removes resources.
func (c *rebalance) changing(verb, short, help string, do func(context.Context, *session.Client, []string) ([]string, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " GROUP RESOURCE...", Short: short, Long: help,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				args = args[:2]
			}
			return cli.Arguments("group", "GROUP", "RESOURCE")(cmd, args)
		},
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			if err := c.checkMode(); err != nil {
				return err
			}
			names, err := c.names(args[1:])
			if err != nil {
				return err
			}
			var done []string
			if err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				done, err = do(ctx, client, names)
				return c.advised(err)
			}); err != nil {
				return err
			}
			return c.showChanged(verb, names, done)
		}),
	}
}

// names are the names in the arguments and on stdin.
func (c *rebalance) names(args []string) (names []string, err error) {
	read := false
	for _, arg := range args {
		switch {
		case arg != "-":
			names = append(names, arg)
		case read:
			return nil, exit.Usage("RESOURCE - is given twice")
		default:
			read = true
			text, err := io.ReadAll(c.app.Stdin)
			if err != nil {
				return nil, fmt.Errorf("cannot read stdin: %w", err)
			}
			names = append(names, cli.SplitLines(string(text))...)
		}
	}
	return names, resourceNames(names)
}

// showChanged prints the changes.
func (c *rebalance) showChanged(verb string, names, done []string) error {
	if done == nil {
		done = []string{}
	}
	distinct := map[string]bool{}
	for _, name := range names {
		distinct[name] = true
	}
	rest := len(distinct) - len(done)
	if c.app.JSON() {
		key := map[string]string{"add": "added", "remove": "removed"}[verb]
		return c.app.PrintJSON(map[string]any{"group": c.path, key: done, "unchanged": rest})
	}
	if verb == "add" {
		return c.app.Printf("%s added, %d already present\n", cli.Count(len(done), "resource"), rest)
	}
	return c.app.Printf("%s removed, %d not found\n", cli.Count(len(done), "resource"), rest)
}

const rebalancePauseHelp = `Pauses GROUP: the coordinator starts no new assignment until "zkr rebalance resume".
Members that join get no resources, and the resources of members that leave stay
without an owner. Moves in progress are completed.
`

// rebalancePause is "zkr rebalance pause".
func (a *app) rebalancePause() *cobra.Command {
	c := &rebalance{app: a}
	by := ""
	cmd := c.simple("pause GROUP", "Keep the resources of a group with their owners, until \"resume\"", rebalancePauseHelp, &by,
		func(ctx context.Context, admin *rebalanser.Admin) error { return admin.Pause(ctx) })
	cmd.Flags().StringVar(&by, "by", "", "`text` that describes the pausing user to people; default: user@host")
	return cmd
}

// rebalanceResume is "zkr rebalance resume".
func (a *app) rebalanceResume() *cobra.Command {
	c := &rebalance{app: a}
	return c.simple("resume GROUP", "End a pause of a group", "Ends a pause of GROUP.\n", new(string),
		func(ctx context.Context, admin *rebalanser.Admin) error { return admin.Resume(ctx) })
}

func (c *rebalance) simple(use, short, help string, by *string, do func(context.Context, *rebalanser.Admin) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: help, Args: cli.Arguments("group", "GROUP"),
		Example: "  zkr rebalance " + strings.Replace(use, "GROUP", "/rebalanser/orders", 1),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			if err := cli.IsText("by", *by); err != nil {
				return err
			}
			o := &rebalanser.Options{ID: cli.OrElse(*by, c.app.whoami())}
			return c.app.Call(cmd.Context(), c.with(o, do))
		}),
	}
}

// whoami names the user of zkr; "" if the user is unknown.
func (a *app) whoami() string {
	host, err := os.Hostname()
	user := cli.OrElse(a.Getenv("USER"), a.Getenv("LOGNAME"))
	switch {
	case user == "":
		return ""
	case err != nil:
		return user
	}
	return user + "@" + host
}
