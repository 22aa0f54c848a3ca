package barriercmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/session"
)

const barrierHelp = `Processes that wait for each other. "await" waits until N processes wait at the
barrier, and lets all of them pass. "enter" lets N processes run their commands at
the same time, and leave together. A gate is closed or open; processes that wait at
a closed gate pass when the gate is opened. A path is one barrier, one double
barrier or one gate, and serves any number of rounds.
`

// barrier is "zkr barrier".
func (a *app) barrier() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "barrier",
		Short: "Make processes wait for each other: barriers, double barriers, gates",
		Long:  barrierHelp,
		Example: "  zkr barrier await /barriers/start -n 3 && ./job\n" +
			"  zkr barrier enter /barriers/stage -n 3 -- ./stage\n" +
			"  zkr barrier gate wait /gates/maintenance && ./job\n" +
			"  zkr barrier ls /barriers/start",
	}, a.barrierAwait(), a.barrierEnter(), a.barrierGate(), a.barrierList())
}

// party has the flags of a party of a barrier.
type party struct {
	path    string
	parties int
	opts    barrier.Options
}

func (p *party) partyFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&p.parties, "n", "n", 0, "the number `N` of parties, the same for all parties")
	f.StringVar(&p.opts.ID, "id", "", "`name` of this party; of parties with the same name, only the newest counts; default: a unique name")
}

func (p *party) checkParty(path string) error {
	if p.path = path; p.parties < 1 {
		return exit.Usage("-n is %d; it must be the number of parties, 1 or more", p.parties)
	}
	return cli.CheckPath(path)
}

// barrierAwait is "zkr barrier await".
func (a *app) barrierAwait() *cobra.Command {
	var p party
	var timeout time.Duration
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.CanBeBusy),
		Use:         "await PATH -n N",
		Short:       "Wait until N parties wait at the barrier, and pass together",
		Long: `Waits until N parties wait at the barrier PATH, passes together with the others, and
shows the number of the round. The next round begins immediately. If too few parties
arrive within --timeout, zkr exits with 75, and this party no longer counts. If zkr
cannot find out whether the party has passed, zkr exits with 74.
`,
		Example: "  zkr barrier await /barriers/start -n 3 --timeout 1m && ./job",
		Args:    cli.OnPath("barrier"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := p.checkParty(args[0]); err != nil {
				return err
			}
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			var round int64
			what := fmt.Sprintf("%d parties at %s", p.parties, p.path)
			if err := a.Await(cmd.Context(), timeout, what, func(ctx context.Context, client *session.Client) (err error) {
				b := barrier.New(client, p.path, p.parties, &p.opts)
				defer a.NoteWait(ctx, func(ctx context.Context) (string, error) { return p.waitsFor(ctx, b.Waiting) })()
				round, err = b.Await(ctx)
				return err
			}); err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(struct {
					Path  string `json:"path"`
					Round int64  `json:"round,string"`
				}{p.path, round})
			}
			return a.Printf("round %d\n", round)
		}),
	}
	p.partyFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit")
	return cmd
}

const barrierEnterHelp = `Waits until N parties wait at PATH and the parties of the last round have left, and
then runs CMD at the same time as the commands of the other parties. When CMD has
ended, zkr waits until all parties have left, and exits as CMD did. A signal ends
this wait.

CMD's environment has ZKR_BARRIER_PATH (the party's znode), ZKR_BARRIER_ROUND (the
number of the round, the same for all parties), ZKR_BARRIER_TOKEN (a fencing token,
greater than all tokens of earlier rounds) and ZKR_BARRIER_SESSION.
` + supervise.RunHelp

// barrierEnter is "zkr barrier enter".
func (a *app) barrierEnter() *cobra.Command {
	var e struct {
		supervise.RunSpec
		party
	}
	cmd := &cobra.Command{
		Use:     "enter PATH -n N [flags] -- CMD [ARGS...]",
		Short:   "Run a command at the same time as N-1 other parties, and leave together",
		Long:    barrierEnterHelp,
		Example: "  zkr barrier enter /barriers/stage -n 3 -- ./stage",
		Args:    cli.BeforeCommand("barrier", "PATH"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			e.Argv = args[1:]
			if err := e.checkParty(args[0]); err != nil {
				return err
			}
			if err := e.Check(cmd); err != nil {
				return err
			}
			e.Target = supervise.Target{
				Name: "the seat in " + e.path, ListCommand: fmt.Sprintf("\"zkr barrier ls %s\"", e.path),
				EnvPrefix: "ZKR_BARRIER", Acquire: e.enter,
				WaitsFor: func(_ context.Context, client *session.Client) supervise.Tell {
					return func(ctx context.Context) (string, error) {
						return e.waitsFor(ctx, barrier.NewDouble(client, e.path, e.parties, &e.opts).Waiting)
					}
				},
			}
			return supervise.Run(cmd.Context(), a.App, &e.RunSpec)
		}),
	}
	e.RunFlags(cmd)
	e.partyFlags(cmd)
	return cmd
}

// waitsFor counts the parties; "" before this party has come, and when all have.
func (p *party) waitsFor(ctx context.Context, list func(context.Context) ([]barrier.Party, error)) (string, error) {
	all, err := list(ctx)
	inside := 0
	for _, one := range all {
		if one.Inside {
			inside++
		}
	}
	come := len(all) - inside
	if come == 0 || come >= p.parties && inside == 0 {
		return "", err
	}
	text := fmt.Sprintf("waiting at %s: %d of %d parties have come", p.path, come, p.parties)
	if inside > 0 {
		text += fmt.Sprintf(", and %d of the last round have not left", inside)
	}
	return text, err
}

func (p *party) enter(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
	seat, err := barrier.NewDouble(client, p.path, p.parties, &p.opts).Enter(ctx)
	if err != nil {
		return nil, err
	}
	return &supervise.Hold{
		Holdable: seat, Token: seat.Token(), Vars: []string{fmt.Sprintf("ZKR_BARRIER_ROUND=%d", seat.Round())},
		Release: seat.Leave, Patient: true,
	}, nil
}

// barrierGate is "zkr barrier gate".
func (a *app) barrierGate() *cobra.Command {
	var timeout time.Duration
	wait := &cobra.Command{
		Annotations: cli.Does(cli.Reads, cli.CanBeBusy),
		Use:         "wait PATH",
		Short:       "Wait until the gate is open",
		Long: "Waits until the gate PATH is open. If the gate is already open, zkr exits immediately.\n" +
			"If the gate is still closed after --timeout, zkr exits with 75.",
		Example: "  zkr barrier gate wait /gates/maintenance --timeout 1h && ./job",
		Args:    cli.OnPath("gate"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			return a.Await(cmd.Context(), timeout, "the gate "+args[0], func(ctx context.Context, client *session.Client) error {
				return barrier.NewGate(client, args[0], nil).Wait(ctx)
			})
		}),
	}
	wait.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit")
	return cli.CommandGroup(&cobra.Command{
		Use:   "gate",
		Short: "Close a gate, open a gate, wait until a gate is open",
		Long: `A gate is closed as long as its path exists, as Curator's DistributedBarrier and
Kazoo's Barrier are. Closing a closed gate, and opening an open gate, is not an error.
`,
		Example: "  zkr barrier gate set /gates/maintenance\n" +
			"  zkr barrier gate wait /gates/maintenance --timeout 1h && ./job\n" +
			"  zkr barrier gate remove /gates/maintenance",
	}, a.gateChange("set", "Close the gate", "Closes the gate PATH: processes that wait for it do not pass. The gate stays closed when zkr ends.", func(ctx context.Context, g *barrier.Gate) error { return g.Set(ctx) }),
		a.gateChange("remove", "Open the gate", "Opens the gate PATH: all processes that wait for it pass.", func(ctx context.Context, g *barrier.Gate) error { return g.Remove(ctx) }),
		a.gateShow(), wait)
}

func (a *app) gateChange(name, short, help string, change func(context.Context, *barrier.Gate) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " PATH", Short: short, Long: help, Example: "  zkr barrier gate " + name + " /gates/maintenance", Args: cli.OnPath("gate"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			return a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return change(ctx, barrier.NewGate(client, args[0], nil))
			})
		}),
	}
}

func (a *app) gateShow() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "show PATH", Short: "Show whether the gate is closed or open", Args: cli.OnPath("gate"),
		Long:    "Prints closed or open. With -o json the field closed is true or false.",
		Example: "  test $(zkr barrier gate show /gates/maintenance) = open && ./job",
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			var closed bool
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				closed, err = barrier.NewGate(client, args[0], nil).Closed(ctx)
				return err
			}); err != nil {
				return err
			}
			switch {
			case a.JSON():
				return a.PrintJSON(struct {
					Path   string `json:"path"`
					Closed bool   `json:"closed"`
				}{args[0], closed})
			case closed:
				return a.Printf("closed\n")
			}
			return a.Printf("open\n")
		}),
	}
}
