package rebalancecmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceListHelp = `Shows the resources of GROUP in order, with each resource's owner and the time since
when. STATE is owned; unowned; moving, if the resource is assigned to a member that
does not own it yet; removed, if the resource was removed and its owner has not
released it yet; or unknown, if the record of its owner cannot be read: no member
takes the resource until the record is repaired ("zkr rebalance status" says how).
`

// rebalanceList is "zkr rebalance ls".
func (a *app) rebalanceList() *cobra.Command {
	c := &rebalance{app: a}
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls GROUP", Short: "List the resources of a group, each with its owner and the time of its acquisition",
		Long: rebalanceListHelp, Args: cli.Arguments("group", "GROUP"),
		Example: "  zkr rebalance ls /rebalanser/orders\n" +
			"  zkr rebalance ls /rebalanser/orders -o json | jq -r '.resources[] | select(.state == \"unowned\") | .resource'",
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			var list []Resource
			if err := a.Call(cmd.Context(), c.with(nil, func(ctx context.Context, admin *rebalanser.Admin) error {
				names, err := admin.Resources(ctx)
				if err != nil {
					return err
				}
				st, err := c.read(ctx, admin)
				list = st.resources(names)
				return err
			})); err != nil {
				return err
			}
			return c.showResources(list)
		}),
	}
}

func (c *rebalance) showResources(list []Resource) error {
	if c.app.JSON() {
		return c.app.PrintJSON(struct {
			Group     string     `json:"group"`
			Resources []Resource `json:"resources"`
		}{c.path, list})
	}
	if len(list) == 0 {
		return c.app.NoteEmpty("%s has no resources", cli.Readable([]byte(c.path)))
	}
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		row := []string{cli.Readable([]byte(r.Name)), r.State, "-", "-", "-", "-"}
		if r.Owner != "" {
			row[2], row[3], row[4] = cli.Readable([]byte(cli.OrElse(r.OwnerID, r.Owner))), cli.LocalTime(r.Since), cli.Age(r.Since)
		}
		if r.For != "" {
			row[5] = cli.Readable([]byte(cli.OrElse(r.ForID, r.For)))
		}
		rows = append(rows, row)
	}
	return c.app.Table(ResourceColumns, rows)
}

const rebalanceStatusHelp = `Shows the state of GROUP: its coordinator, the numbers of coordinators (epoch) and
plans (generation) so far, its members, unowned resources, and moves in progress
with the waiting member, the present owner and the time since when. It also shows
resources that no member subscribes to, resources that a member retries after a
failure, and records that cannot be read, such as records of a newer version. A
member whose STATE is gone has not released all its resources, or its resources are
kept for it (--instance); a member whose STATE is excluded gets no resources.

With --watch zkr shows the state once, and then each change with the time at which
zkr observed it: joined, left, coordinator, paused, resumed, moving, owned, unowned
and removed. zkr may skip changes that follow each other immediately; it always
shows the last one. The line "ready" separates the first state from the changes, and
absent says that the group does not exist.` + cli.UntilEnded

// rebalanceStatus is "zkr rebalance status".
func (a *app) rebalanceStatus() *cobra.Command {
	c := &rebalance{app: a}
	var watch bool
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "status GROUP", Short: "Show the state of a group; with --watch each change",
		Long: rebalanceStatusHelp,
		Example: "  zkr rebalance status /rebalanser/orders\n" +
			"  zkr rebalance status /rebalanser/orders --watch -o json | jq -r 'select(.event == \"left\") | .member.id'",
		Args: cli.Arguments("group", "GROUP"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			if watch {
				w := &rebalanceWatch{rebalance: c}
				return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
					return c.advised(w.run(ctx, client))
				})
			}
			var st Status
			if err := a.Call(cmd.Context(), c.with(nil, func(ctx context.Context, admin *rebalanser.Admin) (err error) {
				st, err = c.read(ctx, admin)
				return err
			})); err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(st)
			}
			return c.showStatus(&st)
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show each change until it is ended")
	return cmd
}

// most is how many unowned or moving resources a table shows.
const most = 20

func (c *rebalance) showStatus(st *Status) error {
	coordinator := "no coordinator"
	if st.Coordinator != "" {
		coordinator = "coordinated by " + st.label(st.Coordinator)
	}
	state := ""
	if st.State != "" {
		state = " (" + cli.Readable([]byte(st.State)) + ")"
	}
	text := fmt.Sprintf("%s: %s mode, %s, epoch %d, generation %d%s\n", cli.Readable([]byte(st.Group)), st.Mode, coordinator, st.Epoch, st.Generation, state)
	if st.Paused != nil {
		text += fmt.Sprintf("paused by %s since %s\n", cli.Readable([]byte(st.Paused.By)), cli.LocalTime(st.Paused.Since))
	}
	text += st.summary() + "\n"
	if n := len(st.Unowned); n > 0 {
		text += "unowned: " + cli.Readable([]byte(strings.Join(st.Unowned[:min(n, most)], ", "))) + more(n) + "\n"
	}
	text += st.troubles()
	if err := c.app.Printf("%s", text); err != nil {
		return err
	}
	if err := c.showMembers(st); err != nil || len(st.Waiting) == 0 {
		return err
	}
	rows := make([][]string, 0, most)
	for _, w := range st.Waiting[:min(len(st.Waiting), most)] {
		row := []string{cli.Readable([]byte(w.Resource)), st.label(w.For), "none", "-", "-"}
		if w.Owner != "" {
			row[2] = st.label(w.Owner)
		} else if st.dark[w.Resource] {
			row[2] = "unknown"
		}
		if !w.Since.IsZero() {
			row[3], row[4] = cli.LocalTime(w.Since), cli.Age(w.Since)
		}
		rows = append(rows, row)
	}
	err := c.app.Table("\n"+MoveColumns, rows)
	if n := len(st.Waiting); err == nil && n > most {
		err = c.app.Printf("%s\n", strings.TrimPrefix(more(n), " "))
	}
	return err
}

// troubles are lines about unreadable records, resources without a subscriber,
// and failing resources.
func (s *Status) troubles() (text string) {
	for _, u := range s.Unreadable[:min(len(s.Unreadable), most)] {
		text += "unreadable: " + cli.Readable([]byte(u.Error)) + "\n"
	}
	if n := len(s.Unreadable); n > most {
		text += "unreadable:" + more(n) + "\n"
	}
	if n := len(s.Uncovered); n > 0 {
		text += "no member subscribes to: " + cli.Readable([]byte(strings.Join(s.Uncovered[:min(n, most)], ", "))) + more(n) + "\n"
	}
	n := len(s.Failing)
	for _, f := range s.Failing[:min(n, most)] {
		text += fmt.Sprintf("failing: %s at %s, %s in a row: %s; next call %s\n",
			cli.Readable([]byte(f.Resource)), s.label(f.Client), cli.Count(f.Failures, "failure"), cli.Readable([]byte(f.Error)), cli.LocalTime(f.Next))
	}
	if n > most {
		text += "failing:" + more(n) + "\n"
	}
	return text
}

// more says how many of n are not shown.
func more(n int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf(" and %d more, which -o json shows", n-most)
}

// summary is the numbers.
func (s *Status) summary() string {
	there := 0
	for _, m := range s.Members {
		if m.State != "gone" {
			there++
		}
	}
	return fmt.Sprintf("%s, %s: %d unowned, %d moving", cli.Count(there, "member"), cli.Count(s.Resources, "resource"), len(s.Unowned), len(s.Waiting))
}

func (c *rebalance) showMembers(st *Status) error {
	if len(st.Members) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(st.Members))
	var notes strings.Builder
	for _, m := range st.Members {
		row := []string{
			cli.OrElse(cli.Readable([]byte(m.ID)), "-"), m.State, cli.OrElse(cli.Readable([]byte(m.Instance)), "-"), cli.OrElse(cli.Readable([]byte(m.Zone)), "-"),
			strconv.Itoa(max(m.Weight, 1)), strconv.Itoa(m.Assigned), strconv.Itoa(m.Owned), "-", "-", cli.Readable([]byte(m.Client)),
		}
		if !m.Since.IsZero() {
			row[7], row[8] = cli.LocalTime(m.Since), cli.Age(m.Since)
		}
		if m.Error != "" {
			fmt.Fprintf(&notes, "%s gets no resources: %s\n", row[9], cli.Readable([]byte(m.Error)))
		}
		if m.Missing > 0 {
			fmt.Fprintf(&notes, "%s starts no new resources until it owns %s more\n", row[9], cli.Count(m.Missing, "resource"))
		}
		rows = append(rows, row)
	}
	if err := c.app.Table("\n"+MemberColumns, rows); err != nil || notes.Len() == 0 {
		return err
	}
	return c.app.Printf("\n%s", notes.String())
}
