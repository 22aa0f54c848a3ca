package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// verdict is what the judge says of a play.
type verdict struct {
	tasks, assignments, again int
	of                        map[string]int // assignments of each worker
	wrong                     []string
}

// judge says whether each task has ended exactly once, whether only tasks of workers
// that were killed were given out again, and whether nothing is left: left is what is
// in ZooKeeper when all is over, and tasks how many were submitted at least.
func judge(h *history, tasks int, dead map[string]bool, left []string) *verdict {
	v := &verdict{tasks: len(h.submitted), of: map[string]int{}}
	if h.gap {
		v.charge("the watch was interrupted: it is not known what has happened")
	}
	if v.tasks < tasks {
		v.charge("there were %d tasks; %d were to be submitted", v.tasks, tasks)
	}
	for _, id := range slices.Sorted(maps.Keys(h.submitted)) {
		if n := h.submitted[id]; n != 1 {
			v.charge("%s came to be %d times", id, n)
		}
		if n := h.ended[id]; n != 1 {
			v.charge("%s has ended %d times", id, n)
		}
		if n := h.removed[id]; n != 1 {
			v.charge("%s was removed %d times", id, n)
		}
		workers := h.given[id]
		if len(workers) == 0 {
			v.charge("%s was given to nobody", id)
		}
		for i, worker := range workers {
			v.assignments++
			v.of[worker]++
			if i == len(workers)-1 {
				continue
			}
			v.again++
			if !dead[worker] {
				v.charge("%s was taken from %s, which was not killed", id, worker)
			}
		}
	}
	for _, what := range []map[string]int{h.ended, h.removed} {
		for id := range what {
			if h.submitted[id] == 0 {
				v.charge("%s was never submitted, and has ended", id)
			}
		}
	}
	for _, path := range left {
		v.charge("%s is left", path)
	}
	return v
}

func (v *verdict) charge(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

var errWrong = errors.New("something is wrong") // read only

func (v *verdict) err() error {
	if len(v.wrong) > 0 {
		return errWrong
	}
	return nil
}

func (v *verdict) String() string {
	again := "none"
	if v.again > 0 {
		again = fmt.Sprint(v.again)
	}
	var of []string
	for _, worker := range slices.Sorted(maps.Keys(v.of)) {
		of = append(of, fmt.Sprintf("%d to %s", v.of[worker], worker))
	}
	text := fmt.Sprintf("%d assignments of %d tasks, %s of them again; %s", v.assignments, v.tasks, again, strings.Join(of, ", "))
	if len(v.wrong) == 0 {
		return text + "\nRIGHT: each task has ended exactly once, and nothing is left"
	}
	return fmt.Sprintf("%s\nWRONG, %d times:\n  %s", text, len(v.wrong), strings.Join(v.wrong[:min(len(v.wrong), 20)], "\n  "))
}
