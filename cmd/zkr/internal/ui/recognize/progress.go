package recognize

import (
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// RunningTask is a task whose handler has reported progress.
type RunningTask struct {
	// Path is that of the assignment.
	Path   string `json:"path"`
	ID     string `json:"id"`
	Worker string `json:"worker"`
	// Done of Total units are done; Total 0: unknown.
	Done     int64     `json:"done,string"`
	Total    int64     `json:"total,string"`
	Note     string    `json:"note,omitempty"`
	Reported time.Time `json:"reported"`
	// Whole is the id as it is: ID may be cut.
	Whole string `json:"-"`
}

// maxRunning bounds the listed running tasks.
const maxRunning = 20

// readProgress reads the assignments below workers.
func (st *TaskState) readProgress(workers *spot) {
	for w := range workers.children.all() {
		for c := range w.children.all() {
			a, err := decodeNode(c.Node, taskformat.Decode[taskformat.Assignment])
			if err != nil || a.Progress == nil {
				continue
			}
			st.Running = append(st.Running, RunningTask{
				Path: c.Path, ID: Text([]byte(a.Task.ID), idWidth), Worker: Text([]byte(taskformat.WorkerName(w.name)), idWidth),
				Done: a.Progress.Done, Total: a.Progress.Total, Note: Text([]byte(a.Progress.Note), 200), Reported: time.UnixMilli(c.Stat.Mtime),
				Whole: a.Task.ID,
			})
		}
	}
	slices.SortStableFunc(st.Running, func(a, b RunningTask) int { return b.Reported.Compare(a.Reported) })
	st.Running = st.Running[:min(len(st.Running), maxRunning)]
}
