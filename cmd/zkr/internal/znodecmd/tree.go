package znodecmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// treeView has the arguments of "zkr tree".
type treeView struct {
	path  string
	depth int  // levels below path; 0: all
	data  bool // all data, not only the beginning
}

const treeHelp = `Shows PATH, or the root, and the znodes below it: for each znode its data version,
the size and the beginning of its data, and the session of an ephemeral znode.
(Servers do not tell which znodes are containers or have a TTL.) Znodes that the
credentials may not read are marked.

zkr reads the tree level by level, not at one moment: znodes that are created or
deleted during the read may appear or not.
`

// tree is "zkr tree".
func (a *app) tree() *cobra.Command {
	v := treeView{path: "/"}
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "tree [PATH]",
		Short:       "Show the znodes at and below PATH",
		Long:        treeHelp,
		Example: "  zkr tree /locks\n" +
			"  zkr tree --depth 2\n" +
			"  zkr tree /app --data -o json | jq -r '.. | .path? // empty'",
		Args: cli.OptionalPath,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				v.path = args[0]
			}
			if v.depth < 0 {
				return exit.Usage("--depth is %d; it must be 0 (all) or more", v.depth)
			}
			var root *leaf
			err := a.LongCall(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				root, err = a.walk(ctx, client, v)
				return err
			})
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(root.describe(v))
			}
			return a.Print(root.draw(v))
		}),
	}
	cmd.Flags().IntVar(&v.depth, "depth", 0, "levels `N` below PATH or the root; 0: all")
	cmd.Flags().BoolVar(&v.data, "data", false, "show all of the data, not only its beginning; with -o json: show data")
	return cmd
}
