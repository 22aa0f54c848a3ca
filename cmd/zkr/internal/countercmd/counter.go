package countercmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
)

const counterHelp = `Numbers shared by all clients that use their path. A change is made once, whichever
requests or replies are lost. If the servers are lost during a change and zkr cannot
find out the outcome, zkr exits with 74: read the counter before you repeat the
change.

A counter that does not exist reads 0. Numbers have 64 bits; a negative number is
written as usual: zkr counter add /c -5
`

// counterCommand is shared by the commands of "zkr counter".
type counterCommand struct {
	app    *app
	format string
}

// counter is "zkr counter".
func (a *app) counter() *cobra.Command {
	c := &counterCommand{app: a}
	parent := cli.CommandGroup(&cobra.Command{
		Use:   "counter",
		Short: "Read and change shared numbers, and get unique numbers",
		Long:  counterHelp,
		Example: "  zkr counter add /counters/builds\n" +
			"  zkr counter cas /counters/quota 5 4 || echo 'another client was faster'\n" +
			"  zkr counter next /ids/order\n" +
			"  zkr counter watch /counters/builds",
	}, c.get(), c.add(), c.set(), c.swap(), c.next(), c.watch())
	parent.PersistentFlags().StringVar(&c.format, "format", "long",
		"the `format` of the number: long (Curator's DistributedAtomicLong), int (Curator's DistributedAtomicInteger and SharedCount) or text (Kazoo's Counter)")
	cli.OneOf(parent, "format", "long", "int", "text")
	return parent
}

// command makes a command of a counter; the command calls on. traits come from
// cli.Does.
func (c *counterCommand) command(traits map[string]string, use, short, example string, args cobra.PositionalArgs,
	on func(ctx context.Context, n *counter.Counter, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Annotations: traits, Use: use, Short: short, Long: counterHelp, Example: "  zkr counter " + example, Args: args,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			return c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return on(ctx, counter.New(client, args[0], o), args)
			})
		}),
	}
}

func (c *counterCommand) options() (*counter.Options, error) {
	format, ok := map[string]counter.Format{
		"long": counter.CuratorLong, "int": counter.CuratorInt, "text": counter.KazooText,
	}[c.format]
	if !ok {
		return nil, exit.Usage("--format is %q; it must be long, int or text", c.format)
	}
	return &counter.Options{Format: format}, nil
}

func (c *counterCommand) get() *cobra.Command {
	return c.command(cli.Does(cli.Reads), "get PATH", "Show the number", "get /counters/builds", cli.OnPath("counter"),
		func(ctx context.Context, n *counter.Counter, args []string) error {
			v, err := n.Get(ctx)
			if err != nil {
				return err
			}
			return c.app.showNumber(args[0], v)
		})
}

func (c *counterCommand) add() *cobra.Command {
	args := func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return cli.CheckPath(args[0])
		}
		return onNumbers("N")(cmd, args)
	}
	return c.command(nil, "add PATH [N]", "Add N, by default 1, and show the new number", "add /counters/builds\n  zkr counter add /counters/quota -5", args,
		func(ctx context.Context, n *counter.Counter, args []string) error {
			delta := int64(1)
			if len(args) > 1 {
				delta, _ = Number("N", args[1]) // the argument was checked before
			}
			v, err := n.Add(ctx, delta)
			if err != nil {
				return err
			}
			return c.app.showNumber(args[0], v)
		})
}

func (c *counterCommand) set() *cobra.Command {
	return c.command(nil, "set PATH N", "Set the number to N, whatever the number was", "set /counters/quota 100", onNumbers("N"),
		func(ctx context.Context, n *counter.Counter, args []string) error {
			v, _ := Number("N", args[1])
			if err := n.Set(ctx, v); err != nil {
				return err
			}
			return c.app.showNumber(args[0], v)
		})
}

func (c *counterCommand) swap() *cobra.Command {
	return c.command(cli.Does(cli.Compares), "cas PATH OLD NEW", "Set the number to NEW if it is OLD; otherwise exit with 75", "cas /counters/quota 5 4 || echo 'another client was faster'", onNumbers("OLD", "NEW"),
		func(ctx context.Context, n *counter.Counter, args []string) error {
			from, _ := Number("OLD", args[1])
			to, _ := Number("NEW", args[2])
			swapped, err := n.CompareAndSwap(ctx, from, to)
			switch {
			case err != nil:
				return err
			case !swapped:
				return &exit.Failure{
					Code: exit.CodeBusy, Err: fmt.Errorf("the counter %s is not %d", args[0], from),
					Hint: fmt.Sprintf("\"zkr counter get %s\" shows the number", args[0]),
				}
			}
			return c.app.showNumber(args[0], to)
		})
}

// next is "zkr counter next".
func (c *counterCommand) next() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "next PATH",
		Short:   "Get a unique number, greater than all numbers before",
		Long:    "The first number is 1.\n\n" + counterHelp,
		Example: "  zkr counter next /ids/order\n  zkr counter next /ids/order -n 100",
		Args:    cli.OnPath("sequence"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			if o.Block = n; n < 1 {
				return exit.Usage("-n is %d; it must be 1 or more", n)
			}
			return c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				q := counter.NewSequence(client, args[0], o)
				for range n {
					v, err := q.Next(ctx)
					if err != nil {
						return err
					}
					if err := c.app.showNumber(args[0], v); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
	cmd.Flags().IntVarP(&n, "n", "n", 1, "get `N` numbers at once")
	return cmd
}

// watch is "zkr counter watch".
func (c *counterCommand) watch() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "watch PATH",
		Short:       "Show the number, and each change",
		Long: "Shows the number, and then each change with the time at which zkr observed it. zkr may\n" +
			"skip changes that follow each other immediately; it always shows the last one." + cli.UntilEnded,
		Example: "  zkr counter watch /counters/builds",
		Args:    cli.OnPath("counter"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			return c.app.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				for state, err := range counter.New(client, args[0], o).Watch(ctx) {
					if err == nil {
						err = c.app.showState(args[0], state)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
}

// showNumber prints a counter's number.
func (a *app) showNumber(path string, v int64) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Path  string `json:"path"`
			Value int64  `json:"value,string"`
		}{path, v})
	}
	return a.Printf("%d\n", v)
}

func (a *app) showState(path string, s counter.State) error {
	now := time.Now()
	switch {
	case a.JSON():
		return a.PrintJSON(struct {
			Time    time.Time `json:"time"`
			Path    string    `json:"path"`
			Value   int64     `json:"value,string"`
			Exists  bool      `json:"exists"`
			Version int32     `json:"version"`
			Zxid    int64     `json:"zxid,string"`
		}{now, path, s.Value, s.Exists, s.Version, s.Zxid})
	case !s.Exists:
		return a.Printf("%s  0  (no znode)\n", cli.Timestamp(now))
	}
	return a.Printf("%s  %d\n", cli.Timestamp(now), s.Value)
}

// minus replaces the sign of a negative number while the command line is read,
// where a hyphen begins a flag.
const minus = "−"

// Number reads a number of the command line; name is the argument's name in the
// usage.
func Number(name, text string) (int64, error) {
	text = strings.Replace(text, minus, "-", 1)
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, exit.Usage("%s is %s; it must fit into 64 bits", name, text)
	}
	if err != nil {
		return 0, exit.Usage("%s is %q; it must be a whole number", name, text)
	}
	return n, nil
}

// onNumbers is OnPath for commands whose other arguments are numbers.
func onNumbers(names ...string) cobra.PositionalArgs {
	return pathAndNumbers("counter", names...)
}

// pathAndNumbers is onNumbers for commands on a path of what.
func pathAndNumbers(what string, names ...string) cobra.PositionalArgs {
	count := cli.OnPath(what, names...)
	return func(cmd *cobra.Command, args []string) error {
		if err := count(cmd, args); err != nil {
			return err
		}
		for i, name := range names {
			if _, err := Number(name, args[i+1]); err != nil {
				return err
			}
		}
		return nil
	}
}

// negative is a negative number on a command line.
var negative = regexp.MustCompile(`^-[0-9]+$`) // read only

// WithNumbers lets the commands of counters have negative numbers as arguments. No
// flag of these commands has a negative value.
func WithNumbers(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || !cmd.HasParent() || cmd.Parent().Name() != "counter" {
		return args
	}
	out := make([]string, len(args))
	for i, arg := range args {
		if out[i] = arg; negative.MatchString(arg) {
			out[i] = minus + arg[1:]
		}
	}
	return out
}
