package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceAddHelp = `Adds resources to GROUP, which is made if there is none yet. RESOURCE - stands for names
from stdin, one per line. Those that are there already stay as they are.
`

// rebalanceAdd is "zkr group add".
func (a *app) rebalanceAdd() *cobra.Command {
	c := &rebalance{app: a}
	cmd := c.changing("add", "Add resources to a group, and make the group", rebalanceAddHelp,
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
	cmd.Example = "  zkr group add /rebalanser/orders orders-1 orders-2\n" +
		"  seq -f 'part-%g' 1000 | zkr group add /rebalanser/log -"
	c.modeFlag(cmd)
	return cmd
}

const rebalanceRemoveHelp = `Removes resources from GROUP. Their owners are told to give them up; until they have,
nobody else owns them, also if they are added again. RESOURCE - stands for names from
stdin, one per line.
`

// rebalanceRemove is "zkr group remove".
func (a *app) rebalanceRemove() *cobra.Command {
	c := &rebalance{app: a}
	cmd := c.changing("remove", "Remove resources from a group", rebalanceRemoveHelp,
		func(ctx context.Context, client *session.Client, names []string) ([]string, error) {
			return rebalanser.Open(client, c.path, nil).RemoveResources(ctx, names...)
		})
	cmd.Example = "  zkr group remove /rebalanser/orders orders-2"
	return cmd
}

// changing is a command that adds or removes resources.
func (c *rebalance) changing(verb, short, help string, do func(context.Context, *session.Client, []string) ([]string, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " GROUP RESOURCE...", Short: short, Long: help,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				args = args[:2]
			}
			return arguments("group", "GROUP", "RESOURCE")(cmd, args)
		},
		RunE: does(func(cmd *cobra.Command, args []string) error {
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
			if err := c.app.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				done, err = do(ctx, client, names)
				return c.advised(err)
			}); err != nil {
				return err
			}
			return c.showChanged(verb, names, done)
		}),
	}
}

// names are those of the arguments, and of stdin.
func (c *rebalance) names(args []string) (names []string, err error) {
	read := false
	for _, arg := range args {
		switch {
		case arg != "-":
			names = append(names, arg)
		case read:
			return nil, usage("RESOURCE - is there twice")
		default:
			read = true
			text, err := io.ReadAll(c.app.stdin)
			if err != nil {
				return nil, fmt.Errorf("cannot read stdin: %w", err)
			}
			names = append(names, lines(string(text))...)
		}
	}
	return names, resourceNames(names)
}

// showChanged says what has changed.
func (c *rebalance) showChanged(verb string, names, done []string) error {
	if done == nil {
		done = []string{}
	}
	distinct := map[string]bool{}
	for _, name := range names {
		distinct[name] = true
	}
	rest := len(distinct) - len(done)
	if c.app.json() {
		key := map[string]string{"add": "added", "remove": "removed"}[verb]
		return c.app.line(map[string]any{"group": c.path, key: done, "unchanged": rest})
	}
	if verb == "add" {
		return c.app.printf("%s added, %d there before\n", count(len(done), "resource"), rest)
	}
	return c.app.printf("%s removed, %d not there\n", count(len(done), "resource"), rest)
}

const rebalancePauseHelp = `Pauses GROUP: its coordinator begins nothing new. Members that come get nothing, and
what those had who go stays without an owner, until "zkr group resume". What is under
way is finished.
`

// rebalancePause is "zkr group pause".
func (a *app) rebalancePause() *cobra.Command {
	c := &rebalance{app: a}
	by := ""
	cmd := c.simple("pause GROUP", "Keep what a group has where it is, until \"resume\"", rebalancePauseHelp, &by,
		func(ctx context.Context, admin *rebalanser.Admin) error { return admin.Pause(ctx) })
	cmd.Flags().StringVar(&by, "by", "", "`text` that says to people who paused it; default: user@host")
	return cmd
}

// rebalanceResume is "zkr group resume".
func (a *app) rebalanceResume() *cobra.Command {
	c := &rebalance{app: a}
	return c.simple("resume GROUP", "End a pause of a group", "Ends a pause of GROUP.\n", new(string),
		func(ctx context.Context, admin *rebalanser.Admin) error { return admin.Resume(ctx) })
}

func (c *rebalance) simple(use, short, help string, by *string, do func(context.Context, *rebalanser.Admin) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: help, Args: arguments("group", "GROUP"),
		Example: "  zkr group " + strings.Replace(use, "GROUP", "/rebalanser/orders", 1),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			if err := isText("by", *by); err != nil {
				return err
			}
			o := &rebalanser.Options{ID: or(*by, c.app.whoami())}
			return c.app.visit(cmd.Context(), c.with(o, do))
		}),
	}
}

// whoami says who runs zkr; "" if that is not known.
func (a *app) whoami() string {
	host, err := os.Hostname()
	user := or(a.env("USER"), a.env("LOGNAME"))
	switch {
	case user == "":
		return ""
	case err != nil:
		return user
	}
	return user + "@" + host
}
