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
	tasks, assignments int
	again, givenBack   int            // assignments after a worker's death, and for an idle worker
	of                 map[string]int // assignments of each worker
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
		given := h.given[id]
		if len(given) == 0 {
			o.Charge("%s was given to no worker", id)
		}
		for i, a := range given {
			o.assignments++
			o.of[a.worker]++
			switch {
			case i == len(given)-1:
			case h.wasGivenBack(id, i):
				o.givenBack++
			default:
				o.again++
				if !dead[a.worker] {
					o.Charge("%s was taken from %s, which was not killed", id, a.worker)
				}
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
	givenBack := ""
	if o.givenBack > 0 {
		givenBack = fmt.Sprintf(", %d after a worker gave the task back", o.givenBack)
	}
	var of []string
	for _, worker := range slices.Sorted(maps.Keys(o.of)) {
		of = append(of, fmt.Sprintf("%d to %s", o.of[worker], worker))
	}
	summary := fmt.Sprintf("%d assignments of %d tasks, %s of them again%s; %s", o.assignments, o.tasks, again, givenBack, strings.Join(of, ", "))
	return o.Report(summary, "each task has ended exactly once, and nothing is left")
}
