package electcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

const electHelp = `Campaigns in the election PATH, runs CMD while leading, and resigns when CMD has
ended. If the leadership is lost, zkr stops CMD and exits with 76. With --again zkr
campaigns again instead, and runs CMD again when it leads, unless zkr has passed
INT, TERM or QUIT on to CMD before. If CMD ends by itself, zkr exits, with --again
too.

CMD's environment has ZKR_LEADER_PATH (the leader's znode), ZKR_LEADER_TOKEN (the
fencing token, which grows with every leadership), ZKR_LEADER_TERM (the number of
the leadership) and ZKR_LEADER_SESSION.
` + supervise.RunHelp

// electSpec has the arguments of "zkr elect".
type electSpec struct {
	supervise.RunSpec
	path   string
	layout string
	value  string
	// proclaims: the value is proclaimed.
	proclaims bool
	opts      election.Options
}

// elect is "zkr elect".
func (a *app) elect() *cobra.Command {
	var e electSpec
	cmd := &cobra.Command{
		Use:   "elect PATH [flags] -- CMD [ARGS...]",
		Short: "Run a command while leading, and stop the command before another candidate can lead",
		Long:  electHelp,
		Example: "  zkr elect /election/scheduler --again -- ./scheduler\n" +
			"  zkr elect /election/scheduler --proclaim http://host-1:8080 -- ./scheduler\n" +
			"  zkr elect /election/scheduler --priority 10 -- ./scheduler\n" +
			"  zkr elect ls /election/scheduler\n" +
			"  zkr elect watch /election/scheduler -o json",
		Args: cli.BeforeCommand("election", "PATH"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			e.path, e.Argv = args[0], args[1:]
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.Target = supervise.Target{
				Name: "the leadership of " + e.path, ListCommand: fmt.Sprintf("\"zkr elect ls %s\"", e.path),
				EnvPrefix: "ZKR_LEADER", Acquire: e.campaign, WaitsFor: supervise.Queue(e.path, e.list, describe),
			}
			return supervise.Run(cmd.Context(), a.App, &e.RunSpec)
		}),
	}
	e.RunFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.Again, "again", false, "campaign again after a loss, and run the command again")
	f.StringVar(&e.opts.ID, "id", "", "`text` that describes the candidate to people; default: host:pid")
	f.StringVar(&e.layout, "layout", "latch", "the znodes' `layout`: latch or selector, those of Curator's LeaderLatch and LeaderSelector, or kazoo, that of Kazoo's Election")
	cli.OneOf(cmd, "layout", "latch", "selector", "kazoo")
	f.StringVar(&e.value, "proclaim", "", "publish `text` while leading: \"zkr elect ls\" and \"zkr elect watch\" show it, and observers in programs see it")
	f.IntVar(&e.opts.Priority, "priority", 0, "of the waiting candidates, the one with the highest `number` leads next, and deposes no leader; 1 to 1000000, for all candidates or none; default: none")
	cmd.AddCommand(a.electList(), a.electWatch(), a.depose())
	return cmd
}

func (e *electSpec) checkAll(cmd *cobra.Command) error {
	layout, ok := map[string]election.Layout{
		"latch": election.LeaderLatch, "selector": election.LeaderSelector, "kazoo": election.Kazoo,
	}[e.layout]
	if e.opts.Layout = layout; !ok {
		return exit.Usage("--layout is %q; it must be latch, selector or kazoo", e.layout)
	}
	if p := e.opts.Priority; p < 0 || p > election.MaxPriority {
		return exit.Usage("--priority is %d; it must be 1 to %d, or 0 for none", p, election.MaxPriority)
	}
	e.proclaims = cmd.Flags().Changed("proclaim")
	if err := cli.CheckPath(e.path); err != nil {
		return err
	}
	return e.Check(cmd)
}

func (e *electSpec) campaign(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
	l, err := election.New(client, e.path, &e.opts).Campaign(ctx)
	if err != nil {
		return nil, err
	}
	// After a loss, the supervisor ends the command, which has not begun yet.
	if e.proclaims {
		if err := l.Proclaim(ctx, []byte(e.value)); err != nil && !errors.Is(err, session.ErrLost) {
			return nil, errors.Join(err, l.Resign(context.WithoutCancel(ctx)))
		}
	}
	return &supervise.Hold{
		Holdable: l, Token: l.Token(), Vars: []string{fmt.Sprintf("ZKR_LEADER_TERM=%d", l.Term())}, Release: l.Resign, TakenBy: takeaway.By(l.Deposed, readDeposition),
	}, nil
}

func (e *electSpec) list(ctx context.Context, client *session.Client) ([]election.Candidate, error) {
	return election.New(client, e.path, &e.opts).Candidates(ctx)
}

func describe(c election.Candidate) supervise.Contender {
	out := supervise.Contender{Name: c.ID, Session: c.Session, Since: c.Since, Holds: c.Leads}
	if !c.Outside {
		out.Token = c.Token
	}
	return out
}
