package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

// costRow is the cost of an operation of a workload: ours, and go-zookeeper's with the same
// workload or, if it has no part in that, with the workload's floor.
type costRow struct {
	name         string
	ours, theirs task.Cost
}

// costs are the medians of the workloads of which both costs are known.
func costs(all []workload, figures []figure) (out []costRow) {
	for _, w := range all {
		other := w.name
		if !slices.Contains(w.peers, goZooKeeper) {
			other = w.floor
		}
		ours, known := medianCost(figures, w.name, ourName)
		theirs, too := medianCost(figures, other, goZooKeeper)
		if known && too {
			out = append(out, costRow{w.name, ours, theirs})
		}
	}
	return out
}

// medianCost is the median of each part of the cost over the rounds of a workload.
func medianCost(figures []figure, workload, peer string) (task.Cost, bool) {
	var processor, allocations, bytes []float64
	for _, f := range figures {
		if f.Workload == workload && f.Peer == peer && f.Error == "" && f.Cost != nil {
			processor = append(processor, f.Cost.Processor)
			allocations = append(allocations, f.Cost.Allocations)
			bytes = append(bytes, f.Cost.Bytes)
		}
	}
	return task.Cost{Processor: task.Median(processor), Allocations: task.Median(allocations), Bytes: task.Median(bytes)}, len(processor) > 0
}

// writeCosts writes rows as a table in Markdown, if there are any.
func writeCosts(out io.Writer, rows []costRow) error {
	if len(rows) == 0 {
		return nil
	}
	lines := [][]string{{"cost of an operation for the client", "ours, µs", "allocations", "bytes", "go-zookeeper, µs", "allocations", "bytes", "µs, ours / go-zookeeper"}}
	lines = append(lines, slices.Repeat([]string{"---"}, len(lines[0])))
	for _, r := range rows {
		ratio := "-"
		if r.ours.Processor > 0 && r.theirs.Processor > 0 {
			ratio = ratioText(r.ours.Processor / r.theirs.Processor)
		}
		lines = append(lines, slices.Concat([]string{r.name}, cells(r.ours), cells(r.theirs), []string{ratio}))
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return writeAligned(out, lines)
}

// cells are the parts of a cost in a table.
func cells(c task.Cost) []string {
	processor := "-"
	if c.Processor > 0 {
		processor = number(c.Processor)
	}
	return []string{processor, number(c.Allocations), number(c.Bytes)}
}
