package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

const electHelp = `Campaigns in the election PATH, runs CMD while leading, and resigns when CMD has
ended. When the leadership is lost CMD is stopped, and zkr exits with 76; with
--again it campaigns again, and runs CMD again when it leads, unless it has passed
INT, TERM or QUIT on to CMD before. When CMD has ended by itself zkr exits, with
--again too.

In CMD's environment are ZKR_LEADER_PATH (the znode that stands for the
leadership), ZKR_LEADER_TOKEN (the fencing token, which grows with every
leadership), ZKR_LEADER_TERM (the number of the leadership) and
ZKR_LEADER_SESSION.
` + errandHelp

// electErrand is what "zkr elect" is asked to do.
type electErrand struct {
	errand
	path   string
	layout string
	opts   election.Options
}

// elect is "zkr elect".
func (a *app) elect() *cobra.Command {
	var e electErrand
	cmd := &cobra.Command{
		Use:   "elect PATH [flags] -- CMD [ARGS...]",
		Short: "Run a command while leading, and stop it before somebody else can lead",
		Long:  electHelp,
		Example: "  zkr elect /election/scheduler --again -- ./scheduler\n" +
			"  zkr elect ls /election/scheduler\n" +
			"  zkr elect watch /election/scheduler -o json",
		Args: beforeCommand("election", "PATH"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			e.path, e.argv = args[0], args[1:]
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.aim = aim{
				name: "the leadership of " + e.path, look: fmt.Sprintf("\"zkr elect ls %s\"", e.path),
				env: "ZKR_LEADER", get: e.campaign,
			}
			return a.carryOut(cmd.Context(), &e.errand)
		}),
	}
	e.runFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.again, "again", false, "after a loss campaign again, and run the command again")
	f.StringVar(&e.opts.ID, "id", "", "`text` that says to others who the candidate is; default: host:pid")
	f.StringVar(&e.layout, "layout", "latch", "the znodes' `layout`: latch or selector, those of Curator's LeaderLatch and LeaderSelector, or kazoo, that of Kazoo's Election")
	oneOf(cmd, "layout", "latch", "selector", "kazoo")
	cmd.AddCommand(a.electList(), a.electWatch())
	return cmd
}

func (e *electErrand) checkAll(cmd *cobra.Command) error {
	layout, ok := map[string]election.Layout{
		"latch": election.LeaderLatch, "selector": election.LeaderSelector, "kazoo": election.Kazoo,
	}[e.layout]
	if e.opts.Layout = layout; !ok {
		return usage("--layout is %q; it must be latch, selector or kazoo", e.layout)
	}
	if err := checkPath(e.path); err != nil {
		return err
	}
	return e.check(cmd)
}

func (e *electErrand) campaign(ctx context.Context, client *session.Client) (*grant, error) {
	l, err := election.New(client, e.path, &e.opts).Campaign(ctx)
	if err != nil {
		return nil, err
	}
	return &grant{
		holdable: l, token: l.Token(), vars: []string{fmt.Sprintf("ZKR_LEADER_TERM=%d", l.Term())}, release: l.Resign,
	}, nil
}
