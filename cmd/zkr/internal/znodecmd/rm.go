package znodecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

const rmHelp = `Deletes the znode PATH; with -r also all znodes below it. What clients hold there ends:
locks, leaderships, registrations. The root and the servers' own /zookeeper are
refused, and with -r a tree of more than --most znodes, of which nothing is deleted
then.

The deletion is not atomic. If it does not come to its end, a part of the tree is
left; the same command deletes the rest.
`

// removal has the arguments of "zkr rm".
type removal struct {
	recursive bool
	most      int
}

// removed is the output in JSON.
type removed struct {
	Path    string `json:"path"`
	Deleted int    `json:"deleted"`
}

// rm is "zkr rm".
func (a *app) rm() *cobra.Command {
	var v removal
	cmd := &cobra.Command{
		Annotations: cli.Does(),
		Use:         "rm PATH",
		Short:       "Delete a znode, and all below it",
		Long:        rmHelp,
		Example: "  zkr rm /locks/former\n" +
			"  zkr rm -r /app/scratch --most 500",
		Args: cli.OnPath("znode"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if v.most < 1 {
				return exit.Usage("--most is %d; it must be 1 or more", v.most)
			}
			path, deleted := args[0], 0
			err := a.LongCall(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				deleted, err = a.remove(ctx, client, path, v)
				return err
			})
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(removed{path, deleted})
			}
			return a.Printf("deleted %s\n", cli.Count(deleted, "znode"))
		}),
	}
	cmd.Flags().BoolVarP(&v.recursive, "recursive", "r", false, "also delete all znodes below PATH")
	cmd.Flags().IntVar(&v.most, "most", 10_000, "with -r: delete nothing if there are more znodes than `N`")
	return cmd
}

func (a *app) remove(ctx context.Context, client *session.Client, path string, v removal) (deleted int, err error) {
	s, err := client.Session(ctx)
	if err != nil {
		return 0, err
	}
	if v.recursive {
		p := newProgress(a.Stderr)
		defer p.clear()
		deleted, err = s.DeleteAll(ctx, path, &session.DeleteAllOptions{Most: v.most, Progress: p.reach})
	} else if err = s.Delete(ctx, path, -1); err == nil {
		deleted = 1
	}
	switch {
	case errors.Is(err, session.ErrInvalidPath), errors.Is(err, session.ErrBadArguments):
		return 0, exit.Usage("%w", err)
	case errors.Is(err, session.ErrNoNode):
		return 0, a.absent(path)
	case errors.Is(err, session.ErrTooManyNodes):
		return 0, &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: fmt.Sprintf("%q shows them; --most N raises the limit", "zkr tree "+path)}
	case errors.Is(err, session.ErrNotEmpty) && !v.recursive:
		return 0, &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: "-r also deletes the znodes below it"}
	case err != nil && deleted > 0:
		return deleted, fmt.Errorf("%w (after %s)", err, cli.Count(deleted, "znode"))
	}
	return deleted, err
}
