package recognize

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// TaskSchedule is a periodic task.
type TaskSchedule struct {
	Path string `json:"path"`
	Name string `json:"name"`
	// Every is the time between two slots, as "24h0m0s".
	Every string `json:"every"`
	// Last is the last slot whose task was submitted, LastTask the id of that task, and Next
	// the first slot that was neither run nor skipped.
	Last     time.Time `json:"last,omitzero"`
	LastTask string    `json:"last_task,omitempty"`
	Next     time.Time `json:"next,omitzero"`
}

// maxSchedules bounds the listed schedules.
const maxSchedules = 100

// readSchedules reads the schedules. A schedule that cannot be read submits no tasks.
func (st *TaskState) readSchedules(t *Thing, dir *spot) {
	if dir == nil {
		return
	}
	for c := range dir.children.all() {
		def, err := decodeLine(c.Node, taskformat.Decode[taskformat.Schedule])
		if err != nil {
			if !c.Denied {
				t.addProblem(Warn, codeUnreadable, c.Path, "the record of a schedule %s: no task is submitted", c.unreadReason(err))
			}
			continue
		}
		out := TaskSchedule{Path: c.Path, Name: Text([]byte(def.Name), idWidth), Every: def.Every.Duration().String()}
		begin := def.Begin(c.Modified())
		if last := c.child(taskformat.NodeLast); last != nil {
			over, err := decodeNode(last.Node, taskformat.Decode[taskformat.LastSlot])
			if err != nil && !last.Denied {
				t.addProblem(Warn, codeUnreadable, last.Path, "the record of the last slot of the schedule %s %s: no task is submitted", out.Name, last.unreadReason(err))
			}
			if err == nil {
				out.Last, out.LastTask = over.Slot, Text([]byte(over.Task), idWidth)
				if over.Over().After(begin) {
					begin = over.Over()
				}
			}
		}
		if next, ok := def.SlotAfter(begin); ok && hasDate(next.UnixMilli()) {
			out.Next = next
		}
		st.Schedules = append(st.Schedules, out)
	}
	slices.SortFunc(st.Schedules, func(a, b TaskSchedule) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	})
	st.Schedules = st.Schedules[:min(len(st.Schedules), maxSchedules)]
}

// decodeLine decodes the first line of a node's data, which may be followed by data that was
// not read as a whole.
func decodeLine[T any](n *Node, decode func([]byte) (T, error)) (T, error) {
	head, _, ended := bytes.Cut(n.Data, []byte{'\n'})
	if !ended && !n.Whole() {
		return *new(T), errUnread
	}
	return decode(head)
}
