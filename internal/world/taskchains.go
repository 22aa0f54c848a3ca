package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// TaskChains are the changes of tasks that all clients of a world have reported. Each task's
// changes must chain: each begins in the state in which another has ended, and the first in
// none. The order in which clients report says nothing: a worker may report the end of a task
// before the master reports its assignment.
type TaskChains struct {
	// mu guards the fields below.
	mu        sync.Mutex
	changes   map[chainedTask]map[change]int // how often each was reported
	suspended bool                           // a session was: a reply may be lost
	excuse    string                         // why a change may not have been reported
}

type chainedTask struct{ path, id string }

type change struct{ from, to string }

// Observe notes a change, and whether the client has reason not to report another.
func (c *TaskChains) Observe(e observe.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case observe.TaskChanged:
		if c.changes == nil {
			c.changes = map[chainedTask]map[change]int{}
		}
		t := chainedTask{e.Path, e.Task}
		if c.changes[t] == nil {
			c.changes[t] = map[change]int{}
		}
		c.changes[t][change{e.From, e.To}]++
	case observe.OutcomeUnknown:
		c.excuse = "an outcome is unknown"
	case observe.SessionChanged:
		switch e.Status {
		case session.Suspended.String():
			// The client finds the outcomes of its writes out, unless the tasks have gone.
			c.suspended = true
		case session.Lost.String():
			c.excuse = "a session was lost"
		}
	}
}

// Check reports the tasks whose changes do not chain, unless there is an excuse.
func (c *TaskChains) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.excuse != "" {
		return nil
	}
	var wrong []error
	for t, changes := range c.changes {
		if n := gaps(changes); n > 0 && !(c.suspended && wasRemoved(changes)) {
			wrong = append(wrong, fmt.Errorf("the changes of task %s of %s do not chain, gaps: %d: %v", t.id, t.path, n, changes)) //nolint:err113 // a test's
		}
	}
	return errors.Join(wrong...)
}

// wasRemoved reports whether the task was removed at some time.
func wasRemoved(changes map[change]int) bool {
	for c := range changes {
		if c.to == "" {
			return true
		}
	}
	return false
}

// gaps is the number of changes that must at least have happened besides, so that all of
// them are one chain that begins without a state. It is that of the trails that an Eulerian
// path lacks: states that were left more often than reached, and circles that nothing leads to.
func gaps(changes map[change]int) (n int) {
	more := map[string]int{"": -1} // how often a state was left, less how often it was reached
	joined := map[string]string{}  // to another state of the same component
	root := func(s string) string {
		for joined[s] != "" && joined[s] != s {
			s = joined[s]
		}
		return s
	}
	for c, times := range changes {
		more[c.from] += times
		more[c.to] -= times
		from, to := name(c.from), name(c.to)
		if a, b := root(from), root(to); a != b {
			joined[a] = b
		}
	}
	begins := map[string]int{root(name("")): 1} // by component
	for state, m := range more {
		begins[root(name(state))] += max(0, m)
		n += max(0, m)
	}
	for _, component := range slices.Sorted(maps.Keys(begins)) {
		if begins[component] == 0 {
			n++
		}
	}
	return n
}

// name is a name for a state, also for none.
func name(state string) string { return "state " + state }
