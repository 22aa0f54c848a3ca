package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
)

// treeView is what "zkr tree" is asked to show.
type treeView struct {
	path  string
	depth int  // levels below path; 0: all
	data  bool // all of it, not only its beginning
}

const treeHelp = `Shows PATH and what is below it: for each znode its data version, the size of its
data, the beginning of the data, and the session that an ephemeral znode goes
with. (Servers do not tell which znodes are containers or have a TTL.) What the
credentials do not let zkr read is named and marked.

The tree is read level by level, not as it was at one moment: what comes and goes
meanwhile may be there or not.
`

// tree is "zkr tree".
func (a *app) tree() *cobra.Command {
	var v treeView
	cmd := &cobra.Command{
		Use:   "tree PATH",
		Short: "Show the znodes at and below PATH",
		Long:  treeHelp,
		Example: "  zkr tree /locks\n" +
			"  zkr tree / --depth 2\n" +
			"  zkr tree /app --data -o json | jq -r '.. | .path? // empty'",
		Args: onPath("znode"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if v.path = args[0]; v.depth < 0 {
				return usage("--depth is %d; it must be 0 (all) or more", v.depth)
			}
			var root *leaf
			err := a.work(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				root, err = a.walk(ctx, client, v)
				return err
			})
			if err != nil {
				return err
			}
			if a.json() {
				return a.line(root.describe(v))
			}
			return a.print(root.draw(v))
		}),
	}
	cmd.Flags().IntVar(&v.depth, "depth", 0, "levels `N` below PATH; 0: all")
	cmd.Flags().BoolVar(&v.data, "data", false, "show all of the data, not only its beginning; with -o json: show data")
	return cmd
}
