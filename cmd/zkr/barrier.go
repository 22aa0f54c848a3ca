package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/session"
)

const barrierHelp = `Processes that meet. "await" waits until as many as -n says are waiting, and lets
them all pass; "enter" lets as many run their commands at the same time, and leave
together; a gate is closed or open, and who waits passes when it is opened. A path
is one barrier, double barrier or gate; it serves any number of rounds.
`

// barrier is "zkr barrier".
func (a *app) barrier() *cobra.Command {
	return family(&cobra.Command{
		Use:   "barrier",
		Short: "Wait for each other: barriers, double barriers, gates",
		Long:  barrierHelp,
		Example: "  zkr barrier await /barriers/start -n 3 && ./job\n" +
			"  zkr barrier enter /barriers/stage -n 3 -- ./stage\n" +
			"  zkr barrier gate wait /gates/maintenance && ./job\n" +
			"  zkr barrier ls /barriers/start",
	}, a.barrierAwait(), a.barrierEnter(), a.barrierGate(), a.barrierList())
}

// party is what one says who comes to a barrier.
type party struct {
	path    string
	parties int
	opts    barrier.Options
}

func (p *party) partyFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&p.parties, "n", "n", 0, "how many must come: `N`, the same for all")
	f.StringVar(&p.opts.ID, "id", "", "`name` of this party; of one name only the newest counts; default: unique")
}

func (p *party) checkParty(path string) error {
	if p.path = path; p.parties < 1 {
		return usage("-n is %d; say how many must come, 1 or more", p.parties)
	}
	return checkPath(path)
}

// barrierAwait is "zkr barrier await".
func (a *app) barrierAwait() *cobra.Command {
	var p party
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "await PATH -n N",
		Short: "Wait until N are waiting, and pass together with them",
		Long: `Waits until N are waiting at PATH, passes together with them, and shows the number
of the round. The next round begins at once. With --timeout zkr exits with 75 if
too few come in time, and does not count any more; with 74 if it cannot be told
whether it was let through.
`,
		Example: "  zkr barrier await /barriers/start -n 3 --timeout 1m && ./job",
		Args:    onPath("barrier"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := p.checkParty(args[0]); err != nil {
				return err
			}
			if err := checkTimeout(timeout); err != nil {
				return err
			}
			var round int64
			what := fmt.Sprintf("%d parties at %s", p.parties, p.path)
			if err := a.await(cmd.Context(), timeout, what, func(ctx context.Context, client *session.Client) (err error) {
				round, err = barrier.New(client, p.path, p.parties, &p.opts).Await(ctx)
				return err
			}); err != nil {
				return err
			}
			if a.json() {
				return a.line(struct {
					Path  string `json:"path"`
					Round int64  `json:"round"`
				}{p.path, round})
			}
			return a.printf("round %d\n", round)
		}),
	}
	p.partyFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, connecting included; 0: for ever")
	return cmd
}

const barrierEnterHelp = `Waits until N are waiting at PATH and nobody is inside any more, and runs CMD
together with their commands. When CMD has ended zkr waits until all of the others
have left as well, and exits as CMD did. A signal ends that wait.

In CMD's environment are ZKR_BARRIER_PATH (the znode that stands for the seat),
ZKR_BARRIER_ROUND (the number of the round, the same for all), ZKR_BARRIER_TOKEN
(a fencing token, greater than all those of earlier rounds) and
ZKR_BARRIER_SESSION.
` + errandHelp

// barrierEnter is "zkr barrier enter".
func (a *app) barrierEnter() *cobra.Command {
	var e struct {
		errand
		party
	}
	cmd := &cobra.Command{
		Use:     "enter PATH -n N [flags] -- CMD [ARGS...]",
		Short:   "Run a command together with N-1 others, and leave together with them",
		Long:    barrierEnterHelp,
		Example: "  zkr barrier enter /barriers/stage -n 3 -- ./stage",
		Args:    beforeCommand("barrier", "PATH"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			e.argv = args[1:]
			if err := e.checkParty(args[0]); err != nil {
				return err
			}
			if err := e.check(cmd); err != nil {
				return err
			}
			e.aim = aim{
				name: "the seat in " + e.path, look: fmt.Sprintf("\"zkr barrier ls %s\"", e.path),
				env: "ZKR_BARRIER", get: e.enter,
			}
			return a.carryOut(cmd.Context(), &e.errand)
		}),
	}
	e.runFlags(cmd)
	e.partyFlags(cmd)
	return cmd
}

func (p *party) enter(ctx context.Context, client *session.Client) (*grant, error) {
	seat, err := barrier.NewDouble(client, p.path, p.parties, &p.opts).Enter(ctx)
	if err != nil {
		return nil, err
	}
	return &grant{
		holdable: seat, token: seat.Token(), vars: []string{fmt.Sprintf("ZKR_BARRIER_ROUND=%d", seat.Round())},
		release: seat.Leave, patient: true,
	}, nil
}

// barrierGate is "zkr barrier gate".
func (a *app) barrierGate() *cobra.Command {
	var timeout time.Duration
	wait := &cobra.Command{
		Use:   "wait PATH",
		Short: "Wait until the gate is open",
		Long: "Waits until the gate PATH is open; if it is already, that is at once. With --timeout zkr\n" +
			"exits with 75 if the gate is still closed then.",
		Example: "  zkr barrier gate wait /gates/maintenance --timeout 1h && ./job",
		Args:    onPath("gate"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := checkTimeout(timeout); err != nil {
				return err
			}
			return a.await(cmd.Context(), timeout, "the gate "+args[0], func(ctx context.Context, client *session.Client) error {
				return barrier.NewGate(client, args[0], nil).Wait(ctx)
			})
		}),
	}
	wait.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, connecting included; 0: for ever")
	return family(&cobra.Command{
		Use:   "gate",
		Short: "Close a gate, open it, wait until it is open",
		Long: `A gate is closed as long as its path exists, as Curator's DistributedBarrier and
Kazoo's Barrier are. To close a closed one, and to open an open one, is no error.
`,
		Example: "  zkr barrier gate set /gates/maintenance\n" +
			"  zkr barrier gate wait /gates/maintenance --timeout 1h && ./job\n" +
			"  zkr barrier gate remove /gates/maintenance",
	}, a.gateChange("set", "Close the gate", "Closes the gate PATH: who waits for it does not pass. It stays closed when zkr ends.", func(ctx context.Context, g *barrier.Gate) error { return g.Set(ctx) }),
		a.gateChange("remove", "Open the gate", "Opens the gate PATH: all who wait for it pass.", func(ctx context.Context, g *barrier.Gate) error { return g.Remove(ctx) }),
		a.gateShow(), wait)
}

func (a *app) gateChange(name, short, help string, change func(context.Context, *barrier.Gate) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " PATH", Short: short, Long: help, Example: "  zkr barrier gate " + name + " /gates/maintenance", Args: onPath("gate"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			return a.visit(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return change(ctx, barrier.NewGate(client, args[0], nil))
			})
		}),
	}
}

func (a *app) gateShow() *cobra.Command {
	return &cobra.Command{
		Use: "show PATH", Short: "Say whether the gate is closed or open", Args: onPath("gate"),
		Long:    "Says closed or open; with -o json the field closed is true or false.",
		Example: "  test $(zkr barrier gate show /gates/maintenance) = open && ./job",
		RunE: does(func(cmd *cobra.Command, args []string) error {
			var closed bool
			if err := a.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				closed, err = barrier.NewGate(client, args[0], nil).Closed(ctx)
				return err
			}); err != nil {
				return err
			}
			switch {
			case a.json():
				return a.line(struct {
					Path   string `json:"path"`
					Closed bool   `json:"closed"`
				}{args[0], closed})
			case closed:
				return a.printf("closed\n")
			}
			return a.printf("open\n")
		}),
	}
}
