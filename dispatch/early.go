package dispatch

import (
	"context"
	"time"
)

// A new master that has many tasks to read begins to assign before it has read all of them.
// Until then it gives out the tasks that it has read, by their order, and does nothing else.
// Before the first assignment it reads the assignments of all workers, and their tasks: a
// worker gets no more tasks than it has room for.

// earlyAfter is how long a master reads before it begins to assign.
const earlyAfter = time.Second

// early is the state of a master that has not read all tasks.
type early int

const (
	earlyWanted early = iota // the assigned tasks are not known
	earlyAsked               // the view is reading the assigned tasks
	earlyReady               // the assigned tasks are known
)

// readAssigned has the view read the tasks that are assigned, if reading all tasks takes
// long.
func (t *mastership) readAssigned(ctx context.Context) error {
	t.mu.Lock()
	wanted := t.view != nil && t.early == earlyWanted && !time.Now().Before(t.earlyAt)
	if wanted {
		t.early = earlyAsked
	}
	t.mu.Unlock()
	if !wanted {
		return nil
	}
	var paths []string
	err := t.retryInSession(ctx, func() error {
		paths = nil
		r := newReading(ctx, t.s)
		for _, node := range r.GetAll(t.listAssignments(r)...) {
			if a, err := decode[assignment](node.Data); node.Exists && err == nil {
				paths = append(paths, t.taskPath(a.Task.ID))
			}
		}
		return r.Err
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view != nil {
		t.view.inbox.requestReads(paths, true)
	}
	return nil
}

// planEarly plans assignments among the tasks that have been read.
func (sc *scheduler) planEarly(now time.Time, max int, serial func() string) []move {
	return sc.planAssignments(now, max, sc.planDue(now, max, nil), serial)
}
