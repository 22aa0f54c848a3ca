package discoverycmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// MemberColumns are the columns of the table.
const MemberColumns = "ID DATA TOKEN SESSION SINCE AGE"

const membersHelp = `The members of groups: names that programs and commands announce as long as they run.
A group is a path, such as /groups/workers, and is created when the first member
joins. Programs take part through the package discovery, and through GroupMember of
Curator or the parties of Kazoo.
`

// membersCommand is shared by the commands of "zkr members".
type membersCommand struct {
	app    *app
	layout string
}

// members is "zkr members".
func (a *app) members() *cobra.Command {
	c := &membersCommand{app: a}
	parent := cli.CommandGroup(&cobra.Command{
		Use:   "members",
		Short: "Show the members of a group; be a member while a command runs",
		Long:  membersHelp,
		Example: "  zkr members ls /groups/workers\n" +
			"  zkr members watch /groups/workers\n" +
			"  zkr members join /groups/workers $(hostname) --data '{\"zone\":\"a\"}' -- ./worker",
	}, c.list(), c.watch(), c.join())
	parent.PersistentFlags().StringVar(&c.layout, "layout", "curator",
		"the znodes' `layout`: curator, that of Curator's GroupMember, or kazoo or shallow, those of Kazoo's Party and ShallowParty")
	cli.OneOf(parent, "layout", "curator", "kazoo", "shallow")
	return parent
}

// list is "zkr members ls".
func (c *membersCommand) list() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls PATH",
		Short:       "Show the members of a group",
		Long: "Shows the members of the group PATH in the order in which they joined. SINCE is when a\n" +
			"member joined, by the servers' clock. A PATH that does not exist is not an error: a message\n" +
			"on stderr says so, and with -o json the field exists is false.",
		Example: "  zkr members ls /groups/workers\n" +
			"  zkr members ls /groups/workers -o json | jq -r '.members[].id'",
		Args: cli.OnPath("group"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			o, err := groupOptions(c.layout)
			if err != nil {
				return err
			}
			var list []discovery.Member
			var around foreign.Surroundings
			if err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				if list, err = discovery.NewGroup(client, args[0], o).Members(ctx); err == nil {
					around = foreign.Inspect(ctx, client, "", args[0])
				}
				return err
			}); err != nil {
				return err
			}
			return c.app.showMembers(args[0], list, around)
		}),
	}
}

// watch is "zkr members watch".
func (c *membersCommand) watch() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "watch PATH",
		Short:       "Show each change of the members of a group",
		Long: "Shows the members of the group PATH, and then each change, with the time at which zkr\n" +
			"observed it. Lines say present (a member when zkr started), added, updated or removed; the line\n" +
			"\"ready\" separates the first members from the changes." + cli.UntilEnded,
		Example: "  zkr members watch /groups/workers\n" +
			"  zkr members watch /groups/workers -o json | jq -r 'select(.event == \"removed\") | .member.id'",
		Args: cli.OnPath("group"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			o, err := groupOptions(c.layout)
			if err != nil {
				return err
			}
			return c.app.watchMembers(cmd.Context(), args[0], o)
		}),
	}
}

func groupOptions(layout string) (*discovery.Options, error) {
	l, ok := map[string]discovery.Layout{
		"curator": discovery.Curator, "kazoo": discovery.Kazoo, "shallow": discovery.KazooShallow,
	}[layout]
	if !ok {
		return nil, exit.Usage("--layout is %q; it must be curator, kazoo or shallow", layout)
	}
	return &discovery.Options{Layout: l}, nil
}

func (a *app) watchMembers(ctx context.Context, path string, o *discovery.Options) error {
	return a.Follow(ctx, func(ctx context.Context, client *session.Client) error {
		r := newListDiff(a, "member")
		for list, err := range discovery.NewGroup(client, path, o).Watch(ctx) {
			all := make([]listed, 0, len(list))
			for _, m := range list {
				one := memberOf(m)
				all = append(all, listed{
					key: m.Path + " " + strconv.FormatInt(m.Token, 10), state: string(m.Data),
					text: cli.Readable([]byte(m.ID)) + "  " + cli.Preview(m.Data, cli.PreviewWidth), json: ListEvent{Member: &one},
				})
			}
			if err == nil {
				err = r.update(all)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) showMembers(path string, found []discovery.Member, around foreign.Surroundings) error {
	list := make([]Member, 0, len(found))
	for _, m := range found {
		list = append(list, memberOf(m))
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Path    string   `json:"path"`
			Exists  bool     `json:"exists"`
			Members []Member `json:"members"`
		}{path, !around.Missing, list})
	}
	if len(list) == 0 {
		return around.NoteEmptyList(a.App, path, "%s has no members")
	}
	rows := make([][]string, 0, len(list))
	for _, m := range list {
		rows = append(rows, []string{
			cli.Readable([]byte(m.ID)), cli.OrElse(cli.Preview(m.data, cli.PreviewWidth), "-"), strconv.FormatInt(m.Token, 10),
			cli.OrElse(m.Session, "none"), cli.LocalTime(m.Since), cli.Age(m.Since),
		})
	}
	return a.Table(MemberColumns, rows)
}

const joinHelp = `Joins the group PATH as ID, runs CMD, and leaves the group when CMD has ended. zkr
renews the membership after a lost session, and if the znode is deleted; CMD is not
told and continues, because a membership excludes no other client. If no server
confirms that the member has left, a note on stderr says so, and zkr exits as CMD
did. If another client is a member under this ID, zkr exits with 75; with --wait zkr
waits.

CMD's environment has ZKR_MEMBER_ID and ZKR_MEMBER_PATH (the member's znode).
`

// join is "zkr members join".
func (c *membersCommand) join() *cobra.Command {
	var e supervise.RunSpec
	var data string
	var wait bool
	cmd := &cobra.Command{
		Use:     "join PATH ID [flags] -- CMD [ARGS...]",
		Short:   "Be a member of the group PATH while a command runs",
		Long:    joinHelp,
		Example: "  zkr members join /groups/workers $(hostname) --data '{\"zone\":\"a\"}' -- ./worker",
		Args:    cli.BeforeCommand("group", "PATH", "ID"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			o, err := groupOptions(c.layout)
			if err != nil {
				return err
			}
			path, id := args[0], args[1]
			o.Wait = wait
			if err := cli.CheckPath(path); err != nil {
				return err
			}
			var shown []byte // nil: none
			if data != "" {
				shown = []byte(data)
			}
			switch {
			case !cli.IsNodeName(id):
				return cli.InvalidName("ID", id)
			case shown != nil && o.Layout != discovery.Curator:
				return exit.Usage("--data has no meaning with --layout %s: members have no data except their ID", c.layout)
			}
			if err := e.Check(cmd); err != nil {
				return err
			}
			e.Argv = args[2:]
			e.Target = supervise.Target{
				Name: fmt.Sprintf("the name %s in %s", id, path), ListCommand: fmt.Sprintf("\"zkr members ls %s\"", path),
				EnvPrefix: "ZKR_MEMBER", Renewed: true,
				Acquire: func(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
					m, err := discovery.NewGroup(client, path, o).Join(ctx, id, shown)
					if err != nil {
						return nil, err
					}
					return holdRegistered(ctx, c.app, m, id, []string{"ZKR_MEMBER_ID=" + id}, m.Leave), nil
				},
			}
			return supervise.Run(cmd.Context(), c.app.App, &e)
		}),
	}
	e.RunFlags(cmd)
	cmd.Flags().StringVar(&data, "data", "", "`text` that other clients can read")
	cmd.Flags().BoolVar(&wait, "wait", false, "if another client is a member under this ID, wait until that client has left")
	return cmd
}
