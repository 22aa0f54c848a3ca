package electcmd

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// CandidateColumns are the columns of the table.
const CandidateColumns = "PLACE STATE PRIORITY ID WATCHES TERM TOKEN SESSION SINCE AGE VALUE"

// electList is "zkr elect ls".
func (a *app) electList() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls PATH",
		Short:       "Show the leader and the waiting candidates of the election PATH, in order",
		Long: "Shows the candidates of the election PATH, in order. STATE is leads or waits. PRIORITY\n" +
			"is 0 for a candidate without one, which leads in its turn. WATCHES is\n" +
			"the place of the candidate that this candidate watches. TERM is the number of this\n" +
			"candidate's leadership if it leads next. SINCE is when the candidate joined the\n" +
			"election, by the servers' clock. VALUE is what the leader has proclaimed. A note on\n" +
			"stderr says if PATH does not exist, or is the path of a lock.",
		Example: "  zkr elect ls /election/scheduler",
		Args:    cli.OnPath("election"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			var found []election.Candidate
			var around foreign.Surroundings
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				if found, err = election.New(client, args[0], nil).Candidates(ctx); err == nil {
					around = foreign.Inspect(ctx, client, recognize.Election, args[0])
				}
				return err
			}); err != nil {
				return err
			}
			list := make([]records.Candidate, 0, len(found))
			for i, c := range found {
				one := records.CandidateOf(args[0], c)
				one.Place = i + 1
				list = append(list, one)
			}
			around.NoteForeign(a.App)
			return a.showCandidates(args[0], list, around)
		}),
	}
}

func (a *app) showCandidates(path string, list []records.Candidate, around foreign.Surroundings) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Path       string              `json:"path"`
			Exists     bool                `json:"exists"`
			Candidates []records.Candidate `json:"candidates"`
		}{path, !around.Missing, list})
	}
	if len(list) == 0 {
		return around.NoteEmptyList(a.App, path, "%s has no leader and no waiting candidate")
	}
	places := map[string]string{}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		place := strconv.Itoa(c.Place)
		places[c.Path] = place
		rows = append(rows, []string{
			place, c.State, strconv.Itoa(c.Priority), cli.Readable([]byte(c.ID)), cli.OrElse(places[c.Watches], "-"), strconv.FormatInt(c.Term, 10), strconv.FormatInt(c.Token, 10),
			cli.OrElse(c.Session, "none"), cli.LocalTime(c.Since), cli.Age(c.Since), valueText(c.Value),
		})
	}
	return a.Table(CandidateColumns, rows)
}

// valueText is a proclaimed value for people; "-" without one.
func valueText(value *string) string {
	if value == nil {
		return "-"
	}
	return strconv.Quote(*value)
}

const electWatchHelp = `Shows the leader of the election PATH and the value that it proclaims, and then each
change with the time at which zkr observed it, also changes to no leader. zkr may skip changes that follow each
other immediately; it always shows the last one.` + cli.UntilEnded

// electWatch is "zkr elect watch".
func (a *app) electWatch() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "watch PATH",
		Short:       "Show the leader of the election PATH, and each change",
		Long:        electWatchHelp,
		Example: "  zkr elect watch /election/scheduler\n" +
			"  zkr elect watch /election/scheduler -o json | jq -r '.leader.id // \"none\"'",
		Args: cli.OnPath("election"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				for state, err := range election.New(client, args[0], nil).Observe(ctx) {
					if err != nil {
						return err
					}
					if err := a.showLeader(args[0], state); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
}

func (a *app) showLeader(path string, state election.State) error {
	var leader *records.Candidate
	if state.Leader != nil {
		c := records.CandidateOf(path, *state.Leader)
		leader = &c
	}
	switch {
	case a.JSON():
		return a.PrintJSON(struct {
			Time   time.Time          `json:"time"`
			Path   string             `json:"path"`
			Leader *records.Candidate `json:"leader"`
		}{time.Now(), path, leader})
	case leader == nil:
		return a.Printf("%s  no leader\n", cli.Timestamp(time.Now()))
	}
	proclaims := ""
	if leader.Value != nil {
		proclaims = ", proclaims " + valueText(leader.Value)
	}
	return a.Printf("%s  %s leads  term %d, token %d, session %s%s\n", cli.Timestamp(time.Now()),
		cli.Readable([]byte(leader.ID)), leader.Term, leader.Token, cli.OrElse(leader.Session, "none"), proclaims)
}
