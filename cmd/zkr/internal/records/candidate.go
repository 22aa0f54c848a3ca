// Package records has the JSON of what several commands show.
package records

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/election"
)

// Candidate is an election.Candidate in JSON.
type Candidate struct {
	Place   int       `json:"place,omitempty"` // in a list
	State   string    `json:"state"`           // leads or waits
	ID      string    `json:"id"`
	Term    int64     `json:"term,string"`
	Token   int64     `json:"token,string"`
	Session string    `json:"session"` // hexadecimal; "" for a foreign znode without a session
	Watches string    `json:"watches"` // path of the candidate before this one; "" for the first
	Value   *string   `json:"value"`   // proclaimed by the leader; null: nothing
	Since   time.Time `json:"since"`   // in the queue, by the server's clock
	Path    string    `json:"path"`    // of the candidate's znode
	// Priority: 0 without one.
	Priority int `json:"priority"`
	// Outside: it waits beside the queue, which is long, or for its turn by its priority.
	Outside bool `json:"outside"`
}

// CandidateOf is a candidate of the election path.
func CandidateOf(path string, c election.Candidate) Candidate {
	out := Candidate{
		State: "waits", ID: cli.AsText(c.Data), Term: c.Term, Token: c.Token, Session: cli.SessionID(c.Session),
		Since: c.Since, Path: c.Path, Priority: c.Priority, Outside: c.Outside,
	}
	if c.Watches != "" {
		out.Watches = path + "/" + c.Watches
	}
	if c.Value != nil {
		text := cli.AsText(c.Value)
		out.Value = &text
	}
	if c.Leads {
		out.State = "leads"
	}
	return out
}
