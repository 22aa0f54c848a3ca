package recognize

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// The states of listed tasks whose records this version cannot read.
const (
	Unreadable = "unreadable"
	Newer      = "newer"
)

// ListedTask is a task in the list of all tasks of a queue.
type ListedTask struct {
	Task
	MaxAttempts, Priority int
	Worker                string // with the task, or the last that had it
	Labels                []string
	Submitted, Assigned   time.Time
	// Payload is the znode with the payload; nil if it does not exist.
	Payload *Node
}

// TasksOf are all tasks of a queue, by the names of their znodes.
func (w *World) TasksOf(t *Thing) []ListedTask {
	queue := w.top.find(t.Path)
	if queue == nil || t.Tasks == nil {
		return nil
	}
	tasks, data := queue.child(taskformat.DirTasks), queue.child(taskformat.DirData)
	if tasks == nil {
		return nil
	}
	out := make([]ListedTask, 0, t.Tasks.Total)
	for bucket := range tasks.children.all() {
		var payloads *spot
		if data != nil {
			payloads = data.child(bucket.name)
		}
		for c := range bucket.children.all() {
			out = append(out, listTask(c, payloads))
		}
	}
	return out
}

// listTask reads a task; payloads is the folder of its payload, or nil.
func listTask(c, payloads *spot) ListedTask {
	r, err := decodeNode(c.Node, taskformat.Decode[taskformat.Record])
	if err != nil {
		state := Unreadable
		if isNewer(err) {
			state = Newer
		}
		return ListedTask{Task: Task{Path: c.Path, ID: Text([]byte(c.name), idWidth), State: state, Error: "the record " + c.unreadReason(err)}}
	}
	out := ListedTask{
		Task: Task{
			Path: c.Path, ID: Text([]byte(r.ID), idWidth), State: string(r.State), Attempt: r.Attempt, Ended: r.FinishedAt, Error: Text([]byte(r.LastFailure), 200),
			Whole: r.ID,
		},
		MaxAttempts: r.MaxAttempts, Priority: r.Priority, Submitted: r.Submitted, Assigned: r.AssignedAt,
	}
	if r.Worker != "" {
		out.Worker = Text([]byte(taskformat.WorkerName(r.Worker)), idWidth)
	}
	for _, label := range r.Labels[:min(len(r.Labels), 8)] {
		out.Labels = append(out.Labels, Text([]byte(label), idWidth))
	}
	if payloads != nil {
		if p := payloads.child(c.name + taskformat.PartMark + r.Run); p != nil && !p.ghost {
			out.Payload = p.Node
		}
	}
	return out
}
