package recognize

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// TaskState is the state of a queue of dispatch.
type TaskState struct {
	// Counts are by state, in the order of States.
	Counts map[string]int `json:"counts"`
	Total  int            `json:"total"`
	// Max is the capacity of the queue; Open: the queue accepts tasks now.
	Max  int  `json:"max"`
	Open bool `json:"open"`
	// Paused is the present pause of the queue; nil: tasks are assigned.
	Paused *TaskPause `json:"paused,omitempty"`
	// Master is the assigning master; Oldest is the submission time of the
	// oldest waiting task.
	Master string    `json:"master,omitempty"`
	Oldest time.Time `json:"oldest_waiting,omitzero"`
	// WaitingSince is since when the task has waited that has been ready for longest.
	WaitingSince time.Time `json:"-"`
	// OldestAssigned is when the task was assigned that has been with its worker for longest.
	OldestAssigned time.Time    `json:"oldest_assigned,omitzero"`
	Workers        []TaskWorker `json:"workers"`
	// Keys is the number of keys of unique tasks, which may be free by now.
	Keys int `json:"keys,omitempty"`
	// Schedules are the periodic tasks, in the order of their names, at most 100.
	Schedules []TaskSchedule `json:"schedules,omitempty"`
	// Running are the running tasks whose handlers have reported progress, the last
	// report first, at most 20.
	Running []RunningTask `json:"running,omitempty"`
	// Trouble are failed tasks, the newest first, at most 20.
	Trouble []Task `json:"trouble,omitempty"`

	// wanted are the labels of waiting tasks.
	wanted map[string]*wantedLabels
}

// wantedLabels are waiting tasks with the same labels.
type wantedLabels struct {
	labels []string
	count  int
	path   string // of any of these tasks
}

// TaskWorker is a worker that carries out tasks.
type TaskWorker struct {
	Path        string    `json:"path"`
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Concurrency int       `json:"concurrency"`
	Assigned    int       `json:"assigned"`
	Labels      []string  `json:"labels,omitempty"`
	Draining    bool      `json:"draining,omitempty"`
	Gone        bool      `json:"gone,omitempty"`
	Session     SessionID `json:"session,omitempty"`
	Since       time.Time `json:"since,omitzero"`

	labels []string // all, as they are
}

// Task is a task of a queue.
type Task struct {
	Path    string    `json:"path"`
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	// Whole is the id as it is: ID may be cut.
	Whole string `json:"-"`
}

// TaskStates are the states of tasks, in their order.
func TaskStates() (out []string) {
	for _, state := range taskformat.States() {
		out = append(out, string(state))
	}
	return out
}

// maxTrouble bounds the listed failed tasks.
const maxTrouble = 20

// taskQueue recognizes queues of dispatch: by the record of the admission.
func taskQueue(l *looker, s *spot) *Thing {
	admission, tasks := s.child(taskformat.DirAdmission), s.child(taskformat.DirTasks)
	if admission == nil || tasks == nil {
		return nil
	}
	limits, err := decodeNode(admission.Node, taskformat.Decode[taskformat.Limits])
	if err != nil && !isNewer(err) {
		return nil
	}
	st := &TaskState{Counts: map[string]int{}, Max: limits.MaxTasks, Open: admission.child(taskformat.NodeOpen) != nil}
	t := &Thing{Kind: Tasks, Path: s.Path, How: "tasks, workers and admission: dispatch", Tasks: st}
	for c := range s.children.all() {
		if c.name == taskformat.DirMasters {
			c.partOf(t.Path)
			continue
		}
		c.claimTree(t)
	}
	s.assignTo(t)
	st.readTasks(t, tasks)
	st.readKeys(t, s.child(taskformat.DirUnique))
	st.readSchedules(t, s.child(taskformat.DirSchedules))
	alive, masters := s.child(taskformat.DirAlive), s.child(taskformat.DirMasters)
	if alive == nil || !alive.Denied {
		st.readWorkers(l, t, s)
	}
	st.readMaster(masters)
	t.State = st.summary()
	st.readPause(t, admission.Path, limits.Paused)
	if err != nil {
		t.addProblem(Warn, codeUnreadable, admission.Path, "the record of the queue's capacity %s", admission.unreadReason(err))
	}
	switch {
	case !st.Open:
		t.addProblem(Warn, codeQueueFull, admission.Path, "the queue is full, or was not opened: it takes no more tasks")
	case st.Master == "" && st.Total > 0 && (masters == nil || !masters.Denied):
		t.addProblem(Warn, codeNoMaster, znode.Join(s.Path, taskformat.DirMasters), "no master is present: tasks are not assigned")
	}
	if dead := st.Counts[taskformat.Dead]; dead > 0 {
		t.addProblem(Warn, codeDeadTasks, tasks.Path, "%s dead: all attempts have failed", formatSeveral(dead, "task is", "tasks are"))
	}
	if st.Counts[taskformat.Waiting] > 0 && (alive == nil || !alive.Denied) && !slices.ContainsFunc(st.Workers, func(w TaskWorker) bool { return !w.Gone && !w.Draining }) {
		t.addProblem(Warn, codeNoWorker, znode.Join(s.Path, taskformat.DirAlive), "no worker is present: tasks wait")
	} else if alive == nil || !alive.Denied {
		st.reportUnmatched(t)
	}
	return t
}

// maxUnmatched bounds the named lists of labels without a worker.
const maxUnmatched = 5

// reportUnmatched finds the tasks with labels of no worker: they wait even while
// workers are idle.
func (st *TaskState) reportUnmatched(t *Thing) {
	found := 0
	for _, key := range slices.Sorted(maps.Keys(st.wanted)) {
		w := st.wanted[key]
		if slices.ContainsFunc(st.Workers, func(x TaskWorker) bool { return !x.Gone && !x.Draining && hasLabels(x.labels, w.labels) }) {
			continue
		}
		if found++; found <= maxUnmatched {
			t.addProblem(Warn, codeNoMatch, w.path, "%s for a worker with %s: no such worker is present", formatSeveral(w.count, "task waits", "tasks wait"), labelText(w.labels))
		}
	}
	if more := found - maxUnmatched; more > 0 {
		t.addProblem(Warn, codeNoMatch, znode.Join(t.Path, taskformat.DirTasks), "tasks wait for %s that no worker has", formatSeveral(more, "more list of labels", "more lists of labels"))
	}
}

// hasLabels reports whether a worker has all wanted labels of a task.
func hasLabels(labels, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(l string) bool { return !slices.Contains(labels, l) })
}

// labelText is labels for people.
func labelText(labels []string) string {
	shown := Text([]byte(strings.Join(labels, ", ")), 200)
	if len(labels) == 1 {
		return "the label " + shown
	}
	return "the labels " + shown
}

func (st *TaskState) readTasks(t *Thing, tasks *spot) {
	broken, later := 0, 0
	for bucket := range tasks.children.all() {
		for c := range bucket.children.all() {
			r, err := decodeNode(c.Node, taskformat.Decode[taskformat.Record])
			if err != nil {
				later += asBit(isNewer(err))
				broken += asBit(!isNewer(err))
				continue
			}
			st.Counts[string(r.State)]++
			st.Total++
			if r.State == taskformat.Waiting {
				st.noteWaiting(c.Node, r)
			}
			if r.State == taskformat.Assigned && !r.AssignedAt.IsZero() && (st.OldestAssigned.IsZero() || r.AssignedAt.Before(st.OldestAssigned)) {
				st.OldestAssigned = r.AssignedAt
			}
			if r.State == taskformat.Waiting && len(r.Labels) > 0 {
				st.addWanted(r.Labels, c.Path)
			}
			if r.State == taskformat.Dead || r.State == taskformat.Failed {
				st.Trouble = append(st.Trouble, Task{
					Path: c.Path, ID: Text([]byte(r.ID), idWidth), State: string(r.State), Attempt: r.Attempt, Ended: r.FinishedAt, Error: Text([]byte(r.LastFailure), 200),
					Whole: r.ID,
				})
			}
		}
	}
	slices.SortStableFunc(st.Trouble, func(a, b Task) int { return b.Ended.Compare(a.Ended) })
	st.Trouble = st.Trouble[:min(len(st.Trouble), maxTrouble)]
	if broken > 0 {
		t.addProblem(Bad, codeUnreadable, tasks.Path, "%s cannot be read", formatCount(broken, "task"))
	}
	if later > 0 {
		t.addProblem(Warn, codeNewerFormat, tasks.Path, "%s a format of a newer version (update zkr)", formatSeveral(later, "task has", "tasks have"))
	}
}

// addWanted notes the labels of a waiting task.
func (st *TaskState) addWanted(labels []string, path string) {
	key := strings.Join(labels, "\x00")
	if st.wanted == nil {
		st.wanted = map[string]*wantedLabels{}
	}
	w := st.wanted[key]
	if w == nil {
		w = &wantedLabels{labels: labels, path: path}
		st.wanted[key] = w
	}
	w.count++
}

func (st *TaskState) readWorkers(l *looker, t *Thing, s *spot) {
	load := map[string]int{}
	workers := s.child(taskformat.DirWorkers)
	if workers != nil {
		for w := range workers.children.all() {
			load[w.name] = w.children.size()
		}
		st.readProgress(workers)
	}
	if alive := s.child(taskformat.DirAlive); alive != nil {
		for c := range alive.children.all() {
			p, err := decodeNode(c.Node, taskformat.Decode[taskformat.Profile])
			if err != nil && !c.Denied {
				t.addProblem(Warn, codeUnreadable, c.Path, "the record of worker %s %s", Text([]byte(taskformat.WorkerName(c.name)), idWidth), c.unreadReason(err))
			}
			w := TaskWorker{
				Path: c.Path, ID: Text([]byte(c.name), idWidth), Name: Text([]byte(p.Name), idWidth), Concurrency: p.Concurrency,
				Assigned: load[c.name], Draining: p.Draining, labels: p.Labels, Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created(),
			}
			if w.Name == "" {
				w.Name = taskformat.WorkerName(w.ID)
			}
			for _, label := range p.Labels[:min(len(p.Labels), 8)] {
				w.Labels = append(w.Labels, Text([]byte(label), idWidth))
			}
			delete(load, c.name)
			st.Workers = append(st.Workers, w)
			t.Members = append(t.Members, Member{Path: c.Path, ID: w.Name, Session: w.Session, Since: w.Since})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(load)) {
		n := load[name]
		// A worker that has just come may have been read before its live node.
		if n == 0 || l.isRecent(workers.child(name).Created(), settling) {
			continue
		}
		id := Text([]byte(name), idWidth)
		path, short := znode.Join(workers.Path, name), taskformat.WorkerName(id)
		st.Workers = append(st.Workers, TaskWorker{Path: path, ID: id, Name: short, Assigned: n, Gone: true})
		t.addProblem(Warn, codeWorkerGone, path, "worker %s has gone, and still has %s", short, formatCount(n, "task"))
	}
	slices.SortFunc(st.Workers, func(a, b TaskWorker) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
}

func (st *TaskState) readMaster(masters *spot) {
	if masters == nil {
		return
	}
	first := ""
	for c := range masters.children.all() {
		if mark, _ := findMarker(c.name); mark != "" && (first == "" || c.name[len(c.name)-digits:] < first) {
			first, st.Master = c.name[len(c.name)-digits:], nameOf(idIn(c.Node), SessionID(c.Stat.EphemeralOwner))
		}
	}
}

func (st *TaskState) summary() string {
	out := fmt.Sprintf("%d waiting, %d assigned", st.Counts[taskformat.Waiting], st.Counts[taskformat.Assigned])
	for _, state := range TaskStates()[2:] {
		if n := st.Counts[state]; n > 0 {
			out += fmt.Sprintf(", %d %s", n, state)
		}
	}
	return out
}
