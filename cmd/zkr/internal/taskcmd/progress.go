package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// Progress is what the handler of a running task has reported last.
type Progress struct {
	Done     int64     `json:"done,string"`
	Total    int64     `json:"total,string"` // 0: unknown
	Note     string    `json:"note"`
	Reported time.Time `json:"reported"`
}

// addProgress reads the progress of the running tasks among the found ones.
func addProgress(ctx context.Context, q *dispatch.Queue, found []Task, ids ...string) error {
	if !slices.ContainsFunc(found, func(t Task) bool { return t.State == "assigned" }) {
		return nil
	}
	list, err := q.Running(ctx, ids...)
	if err != nil {
		return err
	}
	running := map[string]dispatch.Info{}
	for _, in := range list {
		running[in.ID] = in
	}
	for i := range found {
		t := &found[i]
		// Another attempt may have begun since the task was read.
		if in := running[t.ID]; t.State == "assigned" && !in.Reported.IsZero() && in.Attempt == t.Attempt && in.Worker == t.Worker {
			t.Progress = &Progress{in.Done, in.Total, in.Note, in.Reported}
		}
	}
	return nil
}

// text is the progress for people: "42% of 1000, rows".
func (p *Progress) text() string {
	if p == nil {
		return ""
	}
	text := fmt.Sprint(p.Done)
	if p.Total > 0 {
		text = fmt.Sprintf("%.0f%% of %d", min(100, 100*float64(p.Done)/float64(p.Total)), p.Total)
	}
	if p.Note != "" {
		text += ", " + cli.Preview([]byte(p.Note), 60)
	}
	return text
}

// reported is when the progress was written; zero without progress.
func (p *Progress) reported() time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.Reported
}
