package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/examples/internal/verdict"
)

// outcome is the judge's finding about a play.
type outcome struct {
	verdict.Verdict
	tasks, assignments, again int
	of                        map[string]int // assignments of each worker
}

// judge says whether each task has ended exactly once, whether only tasks of workers
// that were killed were given out again, and whether nothing is left: left are the
// znodes that exist in the end, and tasks is the smallest number of submitted tasks.
func judge(h *history, tasks int, dead map[string]bool, left []string) *outcome {
	o := &outcome{tasks: len(h.submitted), of: map[string]int{}}
	if h.gap {
		o.Charge("the watch was interrupted: it is not known what has happened")
	}
	if o.tasks < tasks {
		o.Charge("there were %d tasks; at least %d should have been submitted", o.tasks, tasks)
	}
	for _, id := range slices.Sorted(maps.Keys(h.submitted)) {
		if n := h.submitted[id]; n != 1 {
			o.Charge("%s was created %d times", id, n)
		}
		if n := h.ended[id]; n != 1 {
			o.Charge("%s has ended %d times", id, n)
		}
		if n := h.removed[id]; n != 1 {
			o.Charge("%s was removed %d times", id, n)
		}
		workers := h.given[id]
		if len(workers) == 0 {
			o.Charge("%s was given to no worker", id)
		}
		for i, worker := range workers {
			o.assignments++
			o.of[worker]++
			if i == len(workers)-1 {
				continue
			}
			o.again++
			if !dead[worker] && !h.wasGivenBack(id, i) {
				o.Charge("%s was taken from %s, which was not killed", id, worker)
			}
		}
	}
	for _, what := range []map[string]int{h.ended, h.removed} {
		for id := range what {
			if h.submitted[id] == 0 {
				o.Charge("%s was never submitted, and has ended", id)
			}
		}
	}
	for _, path := range left {
		o.Charge("%s is left", path)
	}
	return o
}

func (o *outcome) String() string {
	again := "none"
	if o.again > 0 {
		again = fmt.Sprint(o.again)
	}
	var of []string
	for _, worker := range slices.Sorted(maps.Keys(o.of)) {
		of = append(of, fmt.Sprintf("%d to %s", o.of[worker], worker))
	}
	summary := fmt.Sprintf("%d assignments of %d tasks, %s of them again; %s", o.assignments, o.tasks, again, strings.Join(of, ", "))
	return o.Report(summary, "each task has ended exactly once, and nothing is left")
}
