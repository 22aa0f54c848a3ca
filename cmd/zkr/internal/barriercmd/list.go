package barriercmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/session"
)

// Meeting is a barrier in the output of "zkr barrier ls".
type Meeting struct {
	Path    string  `json:"path"`
	Exists  bool    `json:"exists"`
	Kind    string  `json:"kind"` // barrier or double; "" if the path is unused
	Parties int     `json:"parties"`
	Round   int64   `json:"round,string"` // rounds so far
	Waiting int     `json:"waiting"`
	Inside  int     `json:"inside"`
	Missing int     `json:"missing"` // parties missing for the next round
	Guests  []Guest `json:"members"`
}

// Guest is a barrier.Party in JSON.
type Guest struct {
	Place int    `json:"place"`
	State string `json:"state"` // waits or inside
	ID    string `json:"id"`
	cli.Content
	Token   int64     `json:"token,string"`
	Session string    `json:"session"` // hexadecimal
	Since   time.Time `json:"since"`   // arrival, by the servers' clock
	Path    string    `json:"path"`    // of the party's znode
	data    []byte
}

// GuestColumns are the columns of the table.
const GuestColumns = "PLACE STATE ID DATA TOKEN SESSION SINCE AGE"

// barrierList is "zkr barrier ls".
func (a *app) barrierList() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls PATH",
		Short:       "Show the parties at the barrier PATH, and how many are missing",
		Long: "Shows how many parties the barrier PATH is for, the number of rounds so far, and the\n" +
			"parties that have arrived: STATE is waits or inside. SINCE is when the party arrived,\n" +
			"by the servers' clock.",
		Example: "  zkr barrier ls /barriers/start",
		Args:    cli.OnPath("barrier"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			m := Meeting{Path: args[0], Guests: []Guest{}}
			if err := a.Call(cmd.Context(), m.read); err != nil {
				return err
			}
			return a.showMeeting(&m)
		}),
	}
}

// read reads the barrier, of whichever kind it is.
func (m *Meeting) read(ctx context.Context, client *session.Client) error {
	state, err := barrier.StateAt(ctx, client, m.Path)
	if errors.Is(err, barrier.ErrRecord) {
		return &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("%s is not a barrier: %w", m.Path, err),
			Hint: fmt.Sprintf("\"zkr barrier gate show %s\" is for gates", m.Path)}
	}
	if err != nil {
		return err
	}
	m.Exists, m.Parties, m.Round = state.Exists, state.Parties, state.Round
	switch {
	case state.Double:
		m.Kind = "double"
	case state.Parties > 0:
		m.Kind = "barrier"
	}
	m.addParties(state.Present)
	return nil
}

func (m *Meeting) addParties(found []barrier.Party) {
	for i, p := range found {
		one := Guest{
			Place: i + 1, State: "waits", ID: p.ID, Content: cli.ContentOf(p.Data), data: p.Data, Token: p.Token,
			Session: cli.SessionID(p.Session), Since: p.Since, Path: m.Path + "/" + p.Name,
		}
		if p.Inside {
			one.State = "inside"
			m.Inside++
		} else {
			m.Waiting++
		}
		m.Guests = append(m.Guests, one)
	}
	m.Missing = max(0, m.Parties-m.Waiting)
}

func (a *app) showMeeting(m *Meeting) error {
	switch {
	case a.JSON():
		return a.PrintJSON(m)
	case m.Kind == "":
		return foreign.Surroundings{Missing: !m.Exists}.NoteEmptyList(a.App, m.Path, "no party has arrived at %s yet")
	}
	var head strings.Builder
	kind := map[string]string{"barrier": "Barrier", "double": "Double barrier"}[m.Kind]
	fmt.Fprintf(&head, "%s of %d, %s so far", kind, m.Parties, cli.Count(int(m.Round), "round"))
	if m.Inside > 0 {
		fmt.Fprintf(&head, ", %d inside", m.Inside)
	}
	fmt.Fprintf(&head, "; for the next one %d waiting, %d missing\n", m.Waiting, m.Missing)
	if err := a.Printf("%s", head.String()); err != nil || len(m.Guests) == 0 {
		return err
	}
	rows := make([][]string, 0, len(m.Guests))
	for _, g := range m.Guests {
		rows = append(rows, []string{
			strconv.Itoa(g.Place), g.State, cli.Readable([]byte(g.ID)), cli.OrElse(cli.Preview(g.data, cli.PreviewWidth), "-"), strconv.FormatInt(g.Token, 10), g.Session, cli.LocalTime(g.Since), cli.Age(g.Since),
		})
	}
	return a.Table(GuestColumns, rows)
}
