package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// candidate is an election.Candidate as "-o json" shows it.
type candidate struct {
	Place   int       `json:"place,omitempty"` // in a list
	State   string    `json:"state"`           // leads or waits
	ID      string    `json:"id"`
	Term    int64     `json:"term"`
	Token   int64     `json:"token"`
	Session string    `json:"session"` // hexadecimal; "" for a stranger's node that belongs to none
	Watches string    `json:"watches"` // path of the candidate before it; "" for the first
	Since   time.Time `json:"since"`   // in the queue, by the server's clock
	Path    string    `json:"path"`    // of the znode that stands for it
}

// candidateColumns are those that tables show.
const candidateColumns = "PLACE STATE ID WATCHES TERM TOKEN SESSION SINCE AGE"

// candidateOf is a candidate of the election path.
func candidateOf(path string, c election.Candidate) candidate {
	out := candidate{
		State: "waits", ID: asText(c.Data), Term: c.Term, Token: c.Token, Session: sessionID(c.Session),
		Since: c.Since, Path: path + "/" + c.Name,
	}
	if c.Watches != "" {
		out.Watches = path + "/" + c.Watches
	}
	if c.Leads {
		out.State = "leads"
	}
	return out
}

// electList is "zkr elect ls".
func (a *app) electList() *cobra.Command {
	return &cobra.Command{
		Use:   "ls PATH",
		Short: "Show the candidates of the election PATH in their order: who leads, who watches whom",
		Long: "Shows the candidates of the election PATH, in order: STATE is leads or waits, WATCHES is\n" +
			"the place of the one that the candidate watches, TERM the number of its leadership if\n" +
			"it leads next. SINCE is when it has queued up, by the servers' clock.",
		Example: "  zkr elect ls /election/scheduler",
		Args:    onPath("election"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			var found []election.Candidate
			if err := a.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = election.New(client, args[0], nil).Candidates(ctx)
				return err
			}); err != nil {
				return err
			}
			list := make([]candidate, 0, len(found))
			for i, c := range found {
				one := candidateOf(args[0], c)
				one.Place = i + 1
				list = append(list, one)
			}
			return a.showCandidates(args[0], list)
		}),
	}
}

func (a *app) showCandidates(path string, list []candidate) error {
	if a.json() {
		return a.line(struct {
			Path       string      `json:"path"`
			Candidates []candidate `json:"candidates"`
		}{path, list})
	}
	if len(list) == 0 {
		return a.empty("nobody leads in %s, and nobody waits to", path)
	}
	places := map[string]string{}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		place := strconv.Itoa(c.Place)
		places[c.Path] = place
		rows = append(rows, []string{
			place, c.State, readable([]byte(c.ID)), or(places[c.Watches], "-"), strconv.FormatInt(c.Term, 10), strconv.FormatInt(c.Token, 10),
			or(c.Session, "none"), clock(c.Since), age(c.Since),
		})
	}
	return a.table(candidateColumns, rows)
}

const electWatchHelp = `Shows who leads in the election PATH, and then each change, with the time at which
zkr saw it, also when nobody leads. Changes that follow each other at once may be
left out; the last one never is.` + untilEnded

// electWatch is "zkr elect watch".
func (a *app) electWatch() *cobra.Command {
	return &cobra.Command{
		Use:   "watch PATH",
		Short: "Show who leads in the election PATH, and each change",
		Long:  electWatchHelp,
		Example: "  zkr elect watch /election/scheduler\n" +
			"  zkr elect watch /election/scheduler -o json | jq -r '.leader.id // \"nobody\"'",
		Args: onPath("election"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			return a.follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
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
	var leader *candidate
	if state.Leader != nil {
		c := candidateOf(path, *state.Leader)
		leader = &c
	}
	switch {
	case a.json():
		return a.line(struct {
			Time   time.Time  `json:"time"`
			Path   string     `json:"path"`
			Leader *candidate `json:"leader"`
		}{time.Now(), path, leader})
	case leader == nil:
		return a.printf("%s  nobody leads\n", moment(time.Now()))
	}
	return a.printf("%s  %s leads  term %d, token %d, session %s\n", moment(time.Now()),
		readable([]byte(leader.ID)), leader.Term, leader.Token, or(leader.Session, "none"))
}
