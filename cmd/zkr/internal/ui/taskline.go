package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// searchedPayload is how many bytes of a payload the filter searches.
const searchedPayload = 200

// taskLine is a task in the list of a queue's tasks.
type taskLine struct {
	recognize.ListedTask
	Queue string // path
	rank  int    // in the default order
}

// taskOrder is the default order of the states: what needs attention comes first.
func taskOrder() []string {
	return []string{
		recognize.Unreadable, recognize.Newer, taskformat.Dead, taskformat.Failed, taskformat.Assigned, taskformat.Waiting, taskformat.Canceled, taskformat.Done,
	}
}

func (t *taskLine) facets() []string { return []string{t.State} }

func (t *taskLine) key() string { return escapePath(t.Path) }

// Class is the color of the state.
func (t *taskLine) Class() string {
	switch t.State {
	case taskformat.Done, taskformat.Assigned:
		return "good"
	case taskformat.Waiting, taskformat.Canceled:
		return ""
	case taskformat.Failed, recognize.Newer:
		return string(recognize.Warn)
	}
	return string(recognize.Bad)
}

// Since is when the task has got its state, as far as its record tells.
func (t *taskLine) Since() time.Time {
	switch {
	case taskformat.State(t.State).Finished() && !t.Ended.IsZero():
		return t.Ended
	case t.State == taskformat.Assigned && !t.Assigned.IsZero():
		return t.Assigned
	}
	return t.Submitted
}

// Action is what users may do with the task; "" for nothing.
func (t *taskLine) Action() string {
	switch t.State {
	case taskformat.Dead, taskformat.Failed, taskformat.Canceled:
		return "requeue"
	case taskformat.Waiting, taskformat.Assigned:
		return "cancel"
	}
	return ""
}

func (t *taskLine) compareTo(other *taskLine, o order) int {
	var c int
	switch o.By {
	case sortName:
		c = o.direct(compareNames(t.ID, other.ID))
	case sortAttempt:
		c = o.direct(cmp.Compare(t.Attempt, other.Attempt))
	case sortPriority:
		c = o.direct(cmp.Compare(t.Priority, other.Priority))
	case sortSince:
		c = o.compareAges(t.Since(), other.Since())
	default:
		c = t.Since().Compare(other.Since())
		if taskformat.State(t.State).Finished() {
			c = -c // the newest end first
		}
		c = cmp.Or(cmp.Compare(t.rank, other.rank), c)
	}
	return cmp.Or(c, strings.Compare(t.Path, other.Path))
}

// matches reports whether the task has all words of a filter.
func (t *taskLine) matches(filter string) bool {
	texts := append([]string{t.ID, t.State, t.Worker, t.Error}, t.Labels...)
	if t.Payload != nil {
		texts = append(texts, string(t.Payload.Data[:min(len(t.Payload.Data), searchedPayload)]))
	}
	return hasWords(filter, texts)
}

// drawTasks draws all tasks of a queue as a table.
func (d *drawing) drawTasks(queue *recognize.Thing) []web.Block {
	all := d.TasksOf(queue)
	t := table[*taskLine]{
		template: "taskline", all: len(all), facets: taskOrder(),
		empty: emptyNote{Things: "tasks", Where: queue.Path, Try: "zkr task submit " + shellWord(queue.Path) + " --data hello"},
		columns: []column{
			{Name: "State"}, {Name: "Task and payload", At: sortName}, {Name: "Worker and error"}, {Name: "Attempt", At: sortAttempt, Class: alignRight},
			{Name: "Priority", At: sortPriority, Class: alignRight}, {Name: "Since", At: sortSince, Class: alignRight},
		},
	}
	for _, task := range all {
		if l := (&taskLine{task, queue.Path, slices.Index(t.facets, task.State)}); d.Filter == "" || l.matches(d.Filter) {
			t.lines = append(t.lines, l)
		}
	}
	return drawTable(d, t, d.drawOwner(queue, "Tasks", len(all)))
}
