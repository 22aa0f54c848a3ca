package taskformat

import (
	"slices"
	"time"
)

// Counts is the data of NodeCounts: a summary of the tasks, which the leading master
// publishes. The record is of a bounded size. A master that replaces the record of
// another master keeps no field of it: unknown fields would count other tasks.
type Counts struct {
	Format int `json:"format"`
	// Token is the token of the leadership of the master that has written the record. A
	// reader trusts the record only while the candidate with this token leads.
	Token int64 `json:"token"`
	// Tasks counts the tasks by state; a state without tasks is left out.
	Tasks map[State]int `json:"tasks"`
	// Unreadable counts the znodes of tasks whose data this version cannot read.
	Unreadable int `json:"unreadable,omitempty"`
	// Oldest is the submission time of the oldest waiting task, if a task waits.
	Oldest time.Time `json:"oldest,omitzero"`
	// Unmatched counts the waiting tasks with labels that no worker has.
	Unmatched int `json:"unmatched,omitempty"`
}

// Valid reports whether a master writes such a record.
func (c Counts) Valid() bool {
	for state, n := range c.Tasks {
		if n < 0 || !slices.Contains(States(), state) {
			return false
		}
	}
	return c.Format == Format && c.Token > 0 && c.Unreadable >= 0 && c.Unmatched >= 0 && c.Unmatched <= c.Tasks[Waiting]
}
