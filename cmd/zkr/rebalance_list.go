package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const rebalanceListHelp = `Shows the resources of GROUP, in order, who owns each, and since when. STATE is owned;
unowned; moving: it is assigned to somebody who does not own it yet; removed: it is no
resource any more, and its owner has not given it up yet.
`

// rebalanceList is "zkr group ls".
func (a *app) rebalanceList() *cobra.Command {
	c := &rebalance{app: a}
	return &cobra.Command{
		Use: "ls GROUP", Short: "Show the resources of a group, who owns them, and since when",
		Long: rebalanceListHelp, Args: arguments("group", "GROUP"),
		Example: "  zkr group ls /rebalanser/orders\n" +
			"  zkr group ls /rebalanser/orders -o json | jq -r '.resources[] | select(.state == \"unowned\") | .resource'",
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			var list []groupResource
			if err := a.visit(cmd.Context(), c.with(nil, func(ctx context.Context, admin *rebalanser.Admin) error {
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

func (c *rebalance) showResources(list []groupResource) error {
	if c.app.json() {
		return c.app.line(struct {
			Group     string          `json:"group"`
			Resources []groupResource `json:"resources"`
		}{c.path, list})
	}
	if len(list) == 0 {
		return c.app.empty("%s has no resources", readable([]byte(c.path)))
	}
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		row := []string{readable([]byte(r.Name)), r.State, "-", "-", "-", "-"}
		if r.Owner != "" {
			row[2], row[3], row[4] = readable([]byte(or(r.OwnerID, r.Owner))), clock(r.Since), age(r.Since)
		}
		if r.For != "" {
			row[5] = readable([]byte(or(r.ForID, r.For)))
		}
		rows = append(rows, row)
	}
	return c.app.table(groupResourceColumns, rows)
}

const rebalanceStatusHelp = `Shows how GROUP stands: its coordinator, how many there have been (epoch) and how many
plans (generation), its members, what nobody owns, and what is on its way: which
resource waits for whom, who has it, and since when. Members whose STATE is gone have
not given back all that they had, or it is kept for them (--instance); those that are
excluded are given nothing.

With --watch it shows that once, and then each change, with the time at which zkr saw
it: joined, left, coordinator, paused, resumed, moving (it waits for somebody), owned,
unowned and removed say what became of a member or a resource. Of changes that follow
each other at once some may be left out; the last one never is. "ready" stands behind
what there was, and absent says that there is no such group.` + untilEnded

// rebalanceStatus is "zkr group status".
func (a *app) rebalanceStatus() *cobra.Command {
	c := &rebalance{app: a}
	var watch bool
	cmd := &cobra.Command{
		Use: "status GROUP", Short: "Show how a group stands; with --watch each change",
		Long: rebalanceStatusHelp,
		Example: "  zkr group status /rebalanser/orders\n" +
			"  zkr group status /rebalanser/orders --watch -o json | jq -r 'select(.event == \"left\") | .member.id'",
		Args: arguments("group", "GROUP"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			if watch {
				w := &rebalanceWatch{rebalance: c}
				return a.follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
					return c.advised(w.run(ctx, client))
				})
			}
			var st groupStatus
			if err := a.visit(cmd.Context(), c.with(nil, func(ctx context.Context, admin *rebalanser.Admin) (err error) {
				st, err = c.read(ctx, admin)
				return err
			})); err != nil {
				return err
			}
			if a.json() {
				return a.line(st)
			}
			return c.showStatus(&st)
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show each change until it is ended")
	return cmd
}

// most is how many resources people are shown that are unowned, or on their way.
const most = 20

func (c *rebalance) showStatus(st *groupStatus) error {
	coordinator := "no coordinator"
	if st.Coordinator != "" {
		coordinator = "coordinated by " + st.label(st.Coordinator)
	}
	state := ""
	if st.State != "" {
		state = " (" + readable([]byte(st.State)) + ")"
	}
	text := fmt.Sprintf("%s: %s mode, %s, epoch %d, generation %d%s\n", readable([]byte(st.Group)), st.Mode, coordinator, st.Epoch, st.Generation, state)
	if st.Paused != nil {
		text += fmt.Sprintf("paused by %s since %s\n", readable([]byte(st.Paused.By)), clock(st.Paused.Since))
	}
	text += st.summary() + "\n"
	if n := len(st.Unowned); n > 0 {
		text += "unowned: " + readable([]byte(strings.Join(st.Unowned[:min(n, most)], ", "))) + more(n) + "\n"
	}
	if err := c.app.printf("%s", text); err != nil {
		return err
	}
	if err := c.showMembers(st); err != nil || len(st.Waiting) == 0 {
		return err
	}
	rows := make([][]string, 0, most)
	for _, w := range st.Waiting[:min(len(st.Waiting), most)] {
		row := []string{readable([]byte(w.Resource)), st.label(w.For), "nobody", "-", "-"}
		if w.Owner != "" {
			row[2] = st.label(w.Owner)
		}
		if !w.Since.IsZero() {
			row[3], row[4] = clock(w.Since), age(w.Since)
		}
		rows = append(rows, row)
	}
	err := c.app.table("\n"+groupMoveColumns, rows)
	if n := len(st.Waiting); err == nil && n > most {
		err = c.app.printf("%s\n", strings.TrimPrefix(more(n), " "))
	}
	return err
}

// more says how many of n are not shown.
func more(n int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf(" and %d more, which -o json shows", n-most)
}

// summary is the numbers.
func (s *groupStatus) summary() string {
	there := 0
	for _, m := range s.Members {
		if m.State != "gone" {
			there++
		}
	}
	return fmt.Sprintf("%s, %s: %d unowned, %d moving", count(there, "member"), count(s.Resources, "resource"), len(s.Unowned), len(s.Waiting))
}

func (c *rebalance) showMembers(st *groupStatus) error {
	if len(st.Members) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(st.Members))
	var excluded strings.Builder
	for _, m := range st.Members {
		row := []string{
			or(readable([]byte(m.ID)), "-"), m.State, or(readable([]byte(m.Instance)), "-"), or(readable([]byte(m.Zone)), "-"),
			strconv.Itoa(max(m.Weight, 1)), strconv.Itoa(m.Assigned), strconv.Itoa(m.Owned), "-", "-", readable([]byte(m.Client)),
		}
		if !m.Since.IsZero() {
			row[7], row[8] = clock(m.Since), age(m.Since)
		}
		if m.Error != "" {
			fmt.Fprintf(&excluded, "%s is given nothing: %s\n", row[9], readable([]byte(m.Error)))
		}
		rows = append(rows, row)
	}
	if err := c.app.table("\n"+groupClientColumns, rows); err != nil || excluded.Len() == 0 {
		return err
	}
	return c.app.printf("\n%s", excluded.String())
}
