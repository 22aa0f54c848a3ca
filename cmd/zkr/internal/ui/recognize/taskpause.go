package recognize

import (
	"cmp"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// TaskPause is a pause of a queue.
type TaskPause struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since,omitzero"`
}

// readPause shows the pause of the queue, if there is one.
func (st *TaskState) readPause(t *Thing, path string, p *taskformat.Pause) {
	if p == nil {
		return
	}
	st.Paused = &TaskPause{By: Text([]byte(p.By), idWidth), Reason: Text([]byte(p.Reason), 200)}
	since := ""
	if hasDate(p.Since.UnixMilli()) && !p.Since.IsZero() {
		st.Paused.Since = p.Since
		since = " since " + p.Since.UTC().Format("2006-01-02 15:04:05Z")
	}
	t.State = "paused: " + t.State
	t.addProblem(Hint, codePaused, path, "the queue is paused by %s%s: %s", cmp.Or(st.Paused.By, "an unknown client"), since, cmp.Or(st.Paused.Reason, "no reason was given"))
}
