// Package valuecmd has the commands of "zkr value".
package valuecmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
)

const valueHelp = `Bytes shared by all clients that use their path, as Curator's SharedValue and
DistributedAtomicValue. A change is made once, whichever requests or replies are lost.
If the servers are lost during a change and zkr cannot find out the outcome, zkr exits
with 74: read the value before you repeat the change.

A value that does not exist has no bytes. DATA, OLD and NEW are used as they are; the
word - stands for stdin, to its end. Write -- before bytes that begin with a hyphen:
zkr value set /config/offset -- -5
`

// app is one run of zkr; the methods of app make the commands.
type app struct{ *cli.App }

// Command makes "zkr value".
func Command(a *cli.App) *cobra.Command {
	v := &app{a}
	return cli.CommandGroup(&cobra.Command{
		Use:   "value",
		Short: "Read and change shared bytes",
		Long:  valueHelp,
		Example: "  zkr value get /config/mode\n" +
			"  zkr value set /config/mode night\n" +
			"  zkr value cas /config/mode night day || echo 'another client was faster'\n" +
			"  zkr value set /config/limits - < limits.json\n" +
			"  zkr value watch /config/mode",
	}, v.get(), v.set(), v.swap(), v.watch())
}

// command makes a command that calls on with the value.
func (a *app) command(traits map[string]string, use, short, example string, args cobra.PositionalArgs,
	on func(ctx context.Context, v *value.Value, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Annotations: traits, Use: use, Short: short, Long: valueHelp, Example: "  zkr value " + example, Args: args,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			args, err := a.readStdin(args)
			if err != nil {
				return err
			}
			return a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return on(ctx, value.New(client, args[0], nil), args)
			})
		}),
	}
}

// readStdin replaces the argument - by stdin.
func (a *app) readStdin(args []string) ([]string, error) {
	out, read := slices.Clone(args), false
	for i, arg := range args[1:] {
		switch {
		case arg != "-":
		case read:
			return nil, exit.Usage("stdin (-) is given twice")
		default:
			read = true
			data, err := io.ReadAll(a.Stdin)
			if err != nil {
				return nil, fmt.Errorf("cannot read stdin: %w", err)
			}
			out[i+1] = string(data)
		}
	}
	return out, nil
}

func (a *app) get() *cobra.Command {
	cmd := a.command(cli.Does(cli.Reads), "get PATH", "Show the bytes", "get /config/mode\n  zkr value get /config/mode -o json | jq -r .zxid", cli.OnPath("value"),
		func(ctx context.Context, v *value.Value, _ []string) error {
			now, err := v.Get(ctx)
			switch {
			case err != nil:
				return err
			case a.JSON():
				return a.PrintJSON(describe(v.Path(), now))
			case cli.IsTerminal(a.Stdout):
				return a.Printf("%s\n", cli.Readable(now.Data))
			}
			return a.Print(now.Data)
		})
	cmd.Long = "Shows the bytes: as they are, without a line end; on a terminal in one line, with\n" +
		"escapes for what is not printable.\n\n" + valueHelp
	return cmd
}

// set is "zkr value set".
func (a *app) set() *cobra.Command {
	var seen string
	cmd := a.command(cli.Does(cli.Compares), "set PATH DATA", "Set the bytes to DATA", "set /config/mode night\n"+
		"  zkr value set /config/limits - < limits.json\n"+
		"  zkr value set /config/mode day --if-zxid 4294967311", cli.OnPath("value", "DATA"),
		func(ctx context.Context, v *value.Value, args []string) error {
			data := []byte(args[1])
			zxid, _ := parseZxid(seen) // the flag was checked before
			set := true
			var err error
			if seen == "" {
				err = v.Set(ctx, data)
			} else {
				set, err = v.TrySet(ctx, value.State{Zxid: zxid}, data)
			}
			switch {
			case err != nil:
				return err
			case !set:
				return refused(args[0], "the value %s is not that of zxid %d any more", args[0], zxid)
			}
			return a.showChanged(args[0], data)
		})
	cmd.Flags().StringVar(&seen, "if-zxid", "", "set only if no client has set the value since the state with this `ZXID` (\"zxid\" of get -o json); 0: if the value does not exist, or was never set; otherwise exit with 75")
	checkArgs := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := checkArgs(cmd, args); err != nil || seen == "" {
			return err
		}
		_, err := parseZxid(seen)
		return err
	}
	return cmd
}

func parseZxid(text string) (int64, error) {
	zxid, err := strconv.ParseInt(text, 10, 64)
	if err != nil || zxid < 0 {
		return 0, exit.Usage("--if-zxid is %q; it must be a whole number, 0 or more", text)
	}
	return zxid, nil
}

// swap is "zkr value cas".
func (a *app) swap() *cobra.Command {
	return a.command(cli.Does(cli.Compares), "cas PATH OLD NEW", "Set the bytes to NEW if they are OLD; otherwise exit with 75", "cas /config/mode night day || echo 'another client was faster'", cli.OnPath("value", "OLD", "NEW"),
		func(ctx context.Context, v *value.Value, args []string) error {
			swapped, err := v.CompareAndSwap(ctx, []byte(args[1]), []byte(args[2]))
			switch {
			case err != nil:
				return err
			case !swapped:
				return refused(args[0], "the value %s is not %s", args[0], cli.Preview([]byte(args[1]), cli.PreviewWidth))
			}
			return a.showChanged(args[0], []byte(args[2]))
		})
}

// refused is the error of a comparison that has failed.
func refused(path, format string, args ...any) error {
	return &exit.Failure{
		Code: exit.CodeBusy, Err: fmt.Errorf(format, args...),
		Hint: fmt.Sprintf("\"zkr value get %s\" shows the value", path),
	}
}

// watch is "zkr value watch".
func (a *app) watch() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "watch PATH",
		Short:       "Show the bytes, and each change",
		Long: "Shows the bytes, and then each change with the time at which zkr observed it. zkr may\n" +
			"skip changes that follow each other immediately; it always shows the last one." + cli.UntilEnded,
		Example: "  zkr value watch /config/mode",
		Args:    cli.OnPath("value"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				for now, err := range value.New(client, args[0], nil).Watch(ctx) {
					if err == nil {
						err = a.showState(args[0], now)
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

// state is the state of a value in JSON.
type state struct {
	Path    string `json:"path"`
	Exists  bool   `json:"exists"`
	Version int32  `json:"version"`
	Zxid    int64  `json:"zxid,string"`
	cli.Content
}

func describe(path string, s value.State) state {
	return state{path, s.Exists, s.Version, s.Zxid, cli.ContentOf(s.Data)}
}

// showChanged prints the new bytes in JSON; people know them.
func (a *app) showChanged(path string, data []byte) error {
	if !a.JSON() {
		return nil
	}
	return a.PrintJSON(struct {
		Path string `json:"path"`
		cli.Content
	}{path, cli.ContentOf(data)})
}

func (a *app) showState(path string, s value.State) error {
	now := time.Now()
	switch {
	case a.JSON():
		return a.PrintJSON(struct {
			Time time.Time `json:"time"`
			state
		}{now, describe(path, s)})
	case !s.Exists:
		return a.Printf("%s  (no znode)\n", cli.Timestamp(now))
	}
	return a.Printf("%s  %s\n", cli.Timestamp(now), cli.Readable(s.Data))
}
