package fencecmd

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/session"
)

// fence is "zkr fence".
func (a *app) fence() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "fence",
		Short: "Show and advance the epoch of fencing tokens",
		Long: "A fencing token of package fence is <epoch>-<number>. Receivers compare the epochs first,\n" +
			"and refuse a token that is lower than the highest they have seen. The znode PATH keeps\n" +
			"the epoch of all writers that name this path. After the ensemble was restored from a\n" +
			"backup, advance the epoch before the writers start.\n",
		Example: "  zkr fence epoch /fence/epoch\n  zkr fence advance /fence/epoch --yes",
	}, a.advance(), a.epoch())
}

// onEpoch accepts the path of an epoch's znode.
func onEpoch(cmd *cobra.Command, args []string) error {
	if err := cli.OnPath("epoch")(cmd, args); err != nil {
		return err
	}
	if args[0] == "/" {
		return exit.Usage("PATH is /; the epoch's znode must be below the root")
	}
	return nil
}

// epoch is "zkr fence epoch".
func (a *app) epoch() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "epoch PATH",
		Short:       "Show the epoch",
		Long: "Shows the epoch that the znode PATH keeps. If there is none, zkr shows nothing and notes\n" +
			"that on stderr: the first token of a hold creates the epoch.\n",
		Example: "  zkr fence epoch /fence/epoch",
		Args:    onEpoch,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			var epoch int64
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				epoch, err = fence.NewIssuer(client, args[0], nil).Epoch(ctx)
				return withHint(err, args[0])
			}); err != nil {
				return err
			}
			switch {
			case a.JSON():
				return a.PrintJSON(struct {
					Path   string `json:"path"`
					Exists bool   `json:"exists"`
					Epoch  int64  `json:"epoch,string"`
				}{args[0], epoch != 0, epoch})
			case epoch == 0:
				return a.NoteEmpty("%s has no epoch; the first token of a hold creates it", args[0])
			}
			return a.Printf("%d\n", epoch)
		}),
	}
}

// withHint adds advice to the error of an epoch that cannot be read.
func withHint(err error, path string) error {
	if !errors.Is(err, fence.ErrCorruptEpoch) {
		return err
	}
	return &exit.Failure{
		Code: exit.CodeFailed, Err: err,
		Hint: fmt.Sprintf("\"zkr fence advance %s --above EPOCH\" replaces the data; EPOCH is the highest that receivers have seen", path),
	}
}

const advanceHelp = `Makes the epoch higher than it is, and higher than --above. Do so in two cases: after the
ensemble was restored from a backup, before the writers start; and when receivers refuse
the tokens of new holds, because they have seen a higher epoch: its number is the part
before the "-" of the higher token in their error, for --above.

Holds keep their tokens. When a new token has reached a receiver, the receiver refuses the
writes of all holders with a former one: restart the writers, or let them make a new token.

zkr shows the epoch and asks. Data that is not an epoch is replaced. If zkr exits with 74,
the epoch may have been advanced; advancing it again is safe.
`

// advancing has the arguments of "zkr fence advance".
type advancing struct {
	above int64
	yes   bool
}

// advance is "zkr fence advance".
func (a *app) advance() *cobra.Command {
	var v advancing
	cmd := &cobra.Command{
		Annotations: cli.Does(),
		Use:         "advance PATH",
		Short:       "Advance the epoch, after a restore from a backup",
		Long:        advanceHelp,
		Example: "  zkr fence advance /fence/epoch --yes\n" +
			"  zkr fence advance /fence/epoch --above 1795000000000123456 --yes",
		Args: onEpoch,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if v.above < 0 || v.above == math.MaxInt64 {
				return exit.Usage("--above is %d; it must be 0 to %d", v.above, int64(math.MaxInt64-1))
			}
			if err := a.CheckYes(v.yes); err != nil {
				return err
			}
			return a.LongCall(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return a.runAdvance(ctx, fence.NewIssuer(client, args[0], nil), args[0], v)
			})
		}),
	}
	cmd.Flags().Int64Var(&v.above, "above", 0, "make the epoch higher than `EPOCH`, too")
	cli.YesFlag(cmd, &v.yes)
	return cmd
}

func (a *app) runAdvance(ctx context.Context, issuer *fence.Issuer, path string, v advancing) error {
	former, err := cli.Within(ctx, a.App, issuer.Epoch)
	state := fmt.Sprintf("was %d", former)
	switch {
	case errors.Is(err, fence.ErrCorruptEpoch):
		state = "had invalid data"
	case err != nil:
		return err
	case former == 0:
		state = "did not exist"
	}
	if !v.yes {
		fmt.Fprintf(a.Stderr, "Until now the epoch %s %s.\nHolders keep their tokens. When a new token has reached a receiver, the receiver refuses\n"+
			"the writes of all other holders, until they make a new token: restart the writers.\n", path, state)
		if err := a.Confirm(ctx, "Advance the epoch?"); err != nil {
			return err
		}
	}
	epoch, err := cli.Within(ctx, a.App, func(ctx context.Context) (int64, error) { return issuer.Advance(ctx, v.above) })
	if err != nil {
		return err
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Path   string `json:"path"`
			Former int64  `json:"former,string"`
			Epoch  int64  `json:"epoch,string"`
		}{path, former, epoch})
	}
	return a.Printf("advanced the epoch %s to %d; until now it %s\n", path, epoch, state)
}
