package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// groupMember is a discovery.Member as "-o json" shows it.
type groupMember struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Token   int64  `json:"token"`
	Session string `json:"session"` // hexadecimal; "" for a stranger's node that belongs to none
	content
	Since time.Time `json:"since"` // joined, by the server's clock
	data  []byte
}

// memberColumns are those that tables show.
const memberColumns = "ID DATA TOKEN SESSION SINCE AGE"

func memberOf(m discovery.Member) groupMember {
	return groupMember{
		ID: m.ID, Path: m.Path, Token: m.Token, Session: sessionID(m.Session), Since: m.Since,
		content: contentOf(m.Data), data: m.Data,
	}
}

const membersHelp = `Shows the members of the group PATH in the order in which they joined; with --watch
each change as well, with the time at which zkr saw it: lines say present (was
there already), added, updated or removed, and "ready" stands between what was
there and what changes.

With --watch it goes on over lost connections and sessions until it is ended: by
INT (Ctrl-C) or TERM with the exit code 0. With -o json each line is an object.
`

// members is "zkr members".
func (a *app) members() *cobra.Command {
	var watch bool
	var layout string
	cmd := &cobra.Command{
		Use:   "members PATH",
		Short: "Show the members of a group; join it as long as a command runs",
		Long:  membersHelp,
		Example: "  zkr members /groups/workers --watch\n" +
			"  zkr members join /groups/workers $(hostname) --data '{\"zone\":\"a\"}' -- ./worker",
		Args: onPath("group"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			o, err := groupOptions(layout)
			switch {
			case err != nil:
				return err
			case watch:
				return a.watchMembers(cmd.Context(), args[0], o)
			}
			var list []discovery.Member
			if err := a.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				list, err = discovery.NewGroup(client, args[0], o).Members(ctx)
				return err
			}); err != nil {
				return err
			}
			return a.showMembers(args[0], list)
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show each change until it is ended")
	cmd.PersistentFlags().StringVar(&layout, "layout", "curator",
		"the znodes' `layout`: curator, that of Curator's GroupMember, or kazoo or shallow, those of Kazoo's Party and ShallowParty")
	oneOf(cmd, "layout", "curator", "kazoo", "shallow")
	cmd.AddCommand(a.membersJoin(&layout))
	return cmd
}

func groupOptions(layout string) (*discovery.Options, error) {
	l, ok := map[string]discovery.Layout{
		"curator": discovery.Curator, "kazoo": discovery.Kazoo, "shallow": discovery.KazooShallow,
	}[layout]
	if !ok {
		return nil, usage("--layout is %q; it must be curator, kazoo or shallow", layout)
	}
	return &discovery.Options{Layout: l}, nil
}

func (a *app) watchMembers(ctx context.Context, path string, o *discovery.Options) error {
	return a.follow(ctx, func(ctx context.Context, client *session.Client) error {
		r := newRoster(a, "member")
		for list, err := range discovery.NewGroup(client, path, o).Watch(ctx) {
			all := make([]listed, 0, len(list))
			for _, m := range list {
				one := memberOf(m)
				all = append(all, listed{
					key: m.Path + " " + strconv.FormatInt(m.Token, 10), state: string(m.Data),
					text: readable([]byte(m.ID)) + "  " + brief(m.Data, previewWidth), json: rosterEvent{Member: &one},
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

func (a *app) showMembers(path string, found []discovery.Member) error {
	list := make([]groupMember, 0, len(found))
	for _, m := range found {
		list = append(list, memberOf(m))
	}
	if a.json() {
		return a.line(struct {
			Path    string        `json:"path"`
			Members []groupMember `json:"members"`
		}{path, list})
	}
	if len(list) == 0 {
		return a.empty("%s has no members", path)
	}
	rows := make([][]string, 0, len(list))
	for _, m := range list {
		rows = append(rows, []string{
			readable([]byte(m.ID)), or(brief(m.data, previewWidth), "-"), strconv.FormatInt(m.Token, 10),
			or(m.Session, "none"), clock(m.Since), age(m.Since),
		})
	}
	return a.table(memberColumns, rows)
}

const joinHelp = `Joins the group PATH as ID, runs CMD, and leaves when CMD has ended. The membership
is kept over lost sessions, and if somebody deletes its znode; CMD is told nothing
of that and runs on, since being a member excludes nobody. If somebody else is a
member of that name zkr exits with 75; with --wait it waits.

In CMD's environment are ZKR_MEMBER_ID and ZKR_MEMBER_PATH (the znode that stands
for the membership).
`

// membersJoin is "zkr members join".
func (a *app) membersJoin(layout *string) *cobra.Command {
	var e errand
	var data string
	var wait bool
	cmd := &cobra.Command{
		Use:     "join PATH ID [flags] -- CMD [ARGS...]",
		Short:   "Be a member of the group PATH as long as a command runs",
		Long:    joinHelp,
		Example: "  zkr members join /groups/workers $(hostname) --data '{\"zone\":\"a\"}' -- ./worker",
		Args:    beforeCommand("group", "PATH", "ID"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			o, err := groupOptions(*layout)
			if err != nil {
				return err
			}
			path, id := args[0], args[1]
			o.Wait = wait
			if err := checkPath(path); err != nil {
				return err
			}
			var shown []byte // nil: none
			if data != "" {
				shown = []byte(data)
			}
			switch {
			case !isName(id):
				return badName("ID", id)
			case shown != nil && o.Layout != discovery.Curator:
				return usage("--data has no meaning with --layout %s, whose members have none but their ID", *layout)
			}
			if err := e.check(cmd); err != nil {
				return err
			}
			e.argv = args[2:]
			e.aim = aim{
				name: fmt.Sprintf("the name %s in %s", id, path), look: fmt.Sprintf("\"zkr members %s\"", path),
				env: "ZKR_MEMBER", kept: true,
				get: func(ctx context.Context, client *session.Client) (*grant, error) {
					m, err := discovery.NewGroup(client, path, o).Join(ctx, id, shown)
					if err != nil {
						return nil, err
					}
					return a.keep(ctx, m, id, []string{"ZKR_MEMBER_ID=" + id}, m.Leave), nil
				},
			}
			return a.carryOut(cmd.Context(), &e)
		}),
	}
	e.runFlags(cmd)
	cmd.Flags().StringVar(&data, "data", "", "`text` that the others see")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for somebody else of this name to go")
	return cmd
}
