package countercmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
)

const latchHelp = `Count-down latches: "set" sets the count to the number of pieces of work, "down"
counts one of them as done, and "await" waits until the count is 0. Then "set" can begin
the next round. A count is made once, whichever requests or replies are lost. If the
servers are lost during a change and zkr cannot find out the outcome, zkr exits with 74:
read the count before you repeat the change.

The count of a latch that does not exist is 0.
`

// LatchCommand makes "zkr latch".
func LatchCommand(a *cli.App) *cobra.Command { return (&app{a}).latch() }

// latch is "zkr latch".
func (a *app) latch() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "latch",
		Short: "Wait until a number of pieces of work are done",
		Long:  latchHelp,
		Example: "  zkr latch set /latches/shards 8\n" +
			"  ./shard && zkr latch down /latches/shards\n" +
			"  zkr latch await /latches/shards --timeout 1h && ./merge",
	}, a.latchSet(), a.latchDown(), a.latchGet(), a.latchAwait())
}

// latchCommand makes a command that shows the count which on returns.
func (a *app) latchCommand(traits map[string]string, use, short, example string, args cobra.PositionalArgs,
	on func(ctx context.Context, l *counter.Latch, args []string) (int, error),
) *cobra.Command {
	return &cobra.Command{
		Annotations: traits, Use: use, Short: short, Long: latchHelp, Example: "  zkr latch " + example, Args: args,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			return a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				count, err := on(ctx, counter.NewLatch(client, args[0], nil), args)
				if err != nil {
					return err
				}
				return a.showCount(args[0], count)
			})
		}),
	}
}

// showCount prints a latch's count.
func (a *app) showCount(path string, count int) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Path  string `json:"path"`
			Count int    `json:"count"`
		}{path, count})
	}
	return a.Printf("%d\n", count)
}

func (a *app) latchSet() *cobra.Command {
	args := func(cmd *cobra.Command, args []string) error {
		if err := pathAndNumbers("latch", "N")(cmd, args); err != nil {
			return err
		}
		if n, _ := Number("N", args[1]); n < 1 || n > counter.MaxCount {
			return exit.Usage("N is %d; it must be 1 to %d", n, counter.MaxCount)
		}
		return nil
	}
	return a.latchCommand(cli.Does(cli.CanBeBusy), "set PATH N", "Set the count to N if it is 0; otherwise exit with 75", "set /latches/shards 8", args,
		func(ctx context.Context, l *counter.Latch, args []string) (int, error) {
			n, _ := Number("N", args[1]) // the argument was checked before
			set, err := l.TrySetCount(ctx, int(n))
			if err == nil && !set {
				err = &exit.Failure{
					Code: exit.CodeBusy, Err: fmt.Errorf("the count of the latch %s is not 0", args[0]),
					Hint: fmt.Sprintf("\"zkr latch get %s\" shows the count", args[0]),
				}
			}
			return int(n), err
		})
}

func (a *app) latchDown() *cobra.Command {
	return a.latchCommand(nil, "down PATH", "Lower the count by 1, unless it is 0, and show the new count", "down /latches/shards", cli.OnPath("latch"),
		func(ctx context.Context, l *counter.Latch, _ []string) (int, error) { return l.CountDown(ctx) })
}

func (a *app) latchGet() *cobra.Command {
	return a.latchCommand(cli.Does(cli.Reads), "get PATH", "Show the count", "get /latches/shards", cli.OnPath("latch"),
		func(ctx context.Context, l *counter.Latch, _ []string) (int, error) { return l.Count(ctx) })
}

// latchAwait is "zkr latch await".
func (a *app) latchAwait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads, cli.CanBeBusy),
		Use:         "await PATH",
		Short:       "Wait until the count is 0",
		Long: "Waits until the count of the latch PATH is 0. If the count is 0 already, zkr exits immediately.\n" +
			"If the count is still above 0 after --timeout, zkr exits with 75.",
		Example: "  zkr latch await /latches/shards --timeout 1h && ./merge",
		Args:    cli.OnPath("latch"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			return a.Await(cmd.Context(), timeout, "the latch "+args[0], func(ctx context.Context, client *session.Client) error {
				l := counter.NewLatch(client, args[0], nil)
				defer a.NoteWait(ctx, func(ctx context.Context) (string, error) {
					count, err := l.Count(ctx)
					if err != nil || count == 0 {
						return "", err
					}
					return fmt.Sprintf("waiting at %s: the count is %d", args[0], count), nil
				})()
				return l.Await(ctx)
			})
		}),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit")
	return cmd
}
