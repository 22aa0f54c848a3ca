package recognize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TaskState is how a queue of dispatch stands.
type TaskState struct {
	// Counts are by state, in the order of States.
	Counts map[string]int `json:"counts"`
	Total  int            `json:"total"`
	// Max is how many the queue takes; Open: it takes more now.
	Max  int  `json:"max"`
	Open bool `json:"open"`
	// Master is who assigns; Oldest when the oldest task that waits was
	// submitted.
	Master  string       `json:"master,omitempty"`
	Oldest  time.Time    `json:"oldest_waiting,omitzero"`
	Workers []TaskWorker `json:"workers"`
	// Trouble are tasks that were given up, the newest first, at most 20.
	Trouble []Task `json:"trouble,omitempty"`
}

// TaskWorker is one that carries tasks out.
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
}

// Task is one of a queue's.
type Task struct {
	Path    string    `json:"path"`
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
}

// TaskStates are the states of tasks, in their order.
func TaskStates() []string {
	return []string{"waiting", "assigned", "done", "failed", "canceled", "dead"}
}

type taskRecord struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Attempt   int       `json:"attempt"`
	Submitted time.Time `json:"submitted"`
	Finished  time.Time `json:"finished"`
	Failure   string    `json:"lastFailure"`
}

type taskLimits struct {
	Format   int `json:"format"`
	MaxTasks int `json:"maxTasks"`
}

type taskProfile struct {
	Name        string   `json:"name"`
	Concurrency int      `json:"concurrency"`
	Labels      []string `json:"labels"`
	Draining    bool     `json:"draining"`
}

// maxTrouble is how many tasks are listed that were given up.
const maxTrouble = 20

// taskQueue tells queues of dispatch: by the record of what they admit.
func taskQueue(l *looker, s *spot) *Thing {
	admission, tasks := s.child("admission"), s.child("tasks")
	if admission == nil || tasks == nil {
		return nil
	}
	limits, ok := read[taskLimits](admission.Node)
	if !ok || limits.Format != 1 || limits.MaxTasks < 1 {
		return nil
	}
	st := &TaskState{Counts: map[string]int{}, Max: limits.MaxTasks, Open: admission.child("open") != nil}
	t := &Thing{Kind: Tasks, Path: s.Path, How: "tasks, workers and admission: dispatch", Tasks: st}
	for _, c := range s.children {
		if c.name == "masters" {
			c.part = t.Path
			continue
		}
		c.claim(t)
	}
	s.claimed = t
	st.tasks(t, tasks)
	alive, masters := s.child("alive"), s.child("masters")
	if alive == nil || !alive.Denied {
		st.workers(l, t, s)
	}
	st.master(masters)
	t.State = st.summary()
	switch {
	case !st.Open:
		t.problem(Warn, admission.Path, "the queue is full, or was not opened: it takes no more tasks")
	case st.Master == "" && st.Total > 0 && (masters == nil || !masters.Denied):
		t.problem(Warn, s.Path+"/masters", "no master is there: nobody assigns tasks")
	}
	if dead := st.Counts["dead"]; dead > 0 {
		t.problem(Warn, tasks.Path, "%s dead: all attempts have failed", several(dead, "task is", "tasks are"))
	}
	if st.Counts["waiting"] > 0 && (alive == nil || !alive.Denied) && !slices.ContainsFunc(st.Workers, func(w TaskWorker) bool { return !w.Gone && !w.Draining }) {
		t.problem(Warn, s.Path+"/alive", "no worker is there: tasks wait")
	}
	return t
}

func (st *TaskState) tasks(t *Thing, tasks *spot) {
	broken := 0
	for _, bucket := range tasks.children {
		for _, c := range bucket.children {
			r, ok := read[taskRecord](c.Node)
			if !ok || !slices.Contains(TaskStates(), r.State) {
				broken++
				continue
			}
			st.Counts[r.State]++
			st.Total++
			if r.State == "waiting" && (st.Oldest.IsZero() || r.Submitted.Before(st.Oldest)) {
				st.Oldest = r.Submitted
			}
			if r.State == "dead" || r.State == "failed" {
				st.Trouble = append(st.Trouble, Task{
					Path: c.Path, ID: Text([]byte(r.ID), idWidth), State: r.State, Attempt: r.Attempt, Ended: r.Finished, Error: Text([]byte(r.Failure), 200),
				})
			}
		}
	}
	slices.SortStableFunc(st.Trouble, func(a, b Task) int { return b.Ended.Compare(a.Ended) })
	st.Trouble = st.Trouble[:min(len(st.Trouble), maxTrouble)]
	if broken > 0 {
		t.problem(Bad, tasks.Path, "%s cannot be read", count(broken, "task"))
	}
}

func (st *TaskState) workers(l *looker, t *Thing, s *spot) {
	load := map[string]int{}
	workers := s.child("workers")
	if workers != nil {
		for _, w := range workers.children {
			load[w.name] = len(w.children)
		}
	}
	if alive := s.child("alive"); alive != nil {
		for _, c := range alive.children {
			p, _ := read[taskProfile](c.Node)
			w := TaskWorker{
				Path: c.Path, ID: Text([]byte(c.name), idWidth), Name: Text([]byte(p.Name), idWidth), Concurrency: p.Concurrency,
				Assigned: load[c.name], Draining: p.Draining, Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created(),
			}
			if w.Name == "" {
				w.Name, _, _ = strings.Cut(w.ID, "~")
			}
			for _, label := range p.Labels[:min(len(p.Labels), 8)] {
				w.Labels = append(w.Labels, Text([]byte(label), idWidth))
			}
			delete(load, c.name)
			st.Workers = append(st.Workers, w)
			t.Members = append(t.Members, Member{Path: c.Path, ID: w.Name, Session: w.Session, Since: w.Since})
		}
	}
	for name, n := range load {
		// Who has just come may have been read before it was alive.
		if n == 0 || l.fresh(workers.child(name).Created(), settling) {
			continue
		}
		id := Text([]byte(name), idWidth)
		short, _, _ := strings.Cut(id, "~")
		st.Workers = append(st.Workers, TaskWorker{Path: s.Path + "/workers/" + name, ID: id, Name: short, Assigned: n, Gone: true})
		t.problem(Warn, s.Path+"/workers/"+name, "worker %s has gone, and %s still its", short, several(n, "task is", "tasks are"))
	}
	slices.SortFunc(st.Workers, func(a, b TaskWorker) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
}

func (st *TaskState) master(masters *spot) {
	if masters == nil {
		return
	}
	first := ""
	for _, c := range masters.children {
		if mark, _ := marker(c.name); mark != "" && (first == "" || c.name[len(c.name)-digits:] < first) {
			first, st.Master = c.name[len(c.name)-digits:], nameOf(idIn(c.Node), SessionID(c.Stat.EphemeralOwner))
		}
	}
}

func (st *TaskState) summary() string {
	out := fmt.Sprintf("%d waiting, %d assigned", st.Counts["waiting"], st.Counts["assigned"])
	for _, state := range TaskStates()[2:] {
		if n := st.Counts[state]; n > 0 {
			out += fmt.Sprintf(", %d %s", n, state)
		}
	}
	return out
}
