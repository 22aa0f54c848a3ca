package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/bench/internal/task"
)

// row is the result of a workload.
type row struct {
	workload
	medians map[string]float64 // by peer; without peers that never succeeded
	failed  map[string]int     // by peer: how many runs
	best    string             // of the others; "" if none was measured
	// ratio is our median divided by the best other peer's; low and high are the
	// lowest and the highest ratio within a round. 0 without both figures.
	ratio, low, high float64
	aim              float64 // the target of ratio in the profile
	// toFloor is our median divided by that of the floor; 0 without both.
	toFloor, floorAim float64
}

// rows sums figures of profile p up, a row for each workload.
func rows(p profile, all []workload, figures []figure) []row {
	var out []row
	floors := map[string]float64{}
	for _, w := range all {
		r := row{workload: w, aim: w.target.forProfile(p), floorAim: w.ofFloor.forProfile(p), medians: map[string]float64{}, failed: map[string]int{}}
		values := map[string]map[int]float64{} // by peer and round
		for _, f := range figures {
			switch {
			case f.Workload != w.name:
			case f.Error != "":
				r.failed[f.Peer]++
			default:
				if values[f.Peer] == nil {
					values[f.Peer] = map[int]float64{}
				}
				values[f.Peer][f.Round] = f.Value
			}
		}
		for peer, rounds := range values {
			var list []float64
			for _, v := range rounds {
				list = append(list, v)
			}
			r.medians[peer] = task.Median(list)
		}
		r.compare(values)
		if v, ok := r.medians[goZooKeeper]; ok && len(r.peers) == 1 {
			floors[w.name] = v
		}
		if ours, floor := r.medians[ourName], floors[w.floor]; ours > 0 && floor > 0 {
			r.toFloor = ours / floor
		}
		out = append(out, r)
	}
	return out
}

// compare finds the best other peer, and the ratios to it.
func (r *row) compare(values map[string]map[int]float64) {
	for _, peer := range r.peers {
		v, ok := r.medians[peer]
		if ok && peer != ourName && (r.best == "" || better(r.unit, v, r.medians[r.best])) {
			r.best = peer
		}
	}
	if r.best == "" || values[ourName] == nil {
		return
	}
	r.ratio = r.medians[ourName] / r.medians[r.best]
	var each []float64
	for round, v := range values[ourName] {
		if other, ok := values[r.best][round]; ok {
			each = append(each, v/other)
		}
	}
	if len(each) > 0 {
		r.low, r.high = slices.Min(each), slices.Max(each)
	}
}

// reached reports whether ratio has reached aim.
func (r row) reached(ratio, aim float64) bool {
	return ratio > 0 && (ratio == aim || better(r.unit, ratio, aim))
}

// write writes rows as a table in Markdown.
func write(out io.Writer, peers []string, all []row) error {
	lines := [][]string{append(append([]string{"workload", "unit"}, peers...), "ours / best", "rounds", "target", "", "ours / floor", "target", "")}
	lines = append(lines, slices.Repeat([]string{"---"}, len(lines[0])))
	for _, r := range all {
		cells := []string{r.name, r.unit}
		for _, peer := range peers {
			cells = append(cells, r.cell(peer))
		}
		lines = append(lines, append(cells, r.judgeRatios()...))
	}
	return writeAligned(out, lines)
}

// writeAligned writes the lines of a table, the cells of a column equally wide.
func writeAligned(out io.Writer, lines [][]string) error {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		for i, cell := range cells {
			cells[i] = cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		}
		if _, err := fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}

func (r row) cell(peer string) string {
	var out []string
	if v, ok := r.medians[peer]; ok {
		out = append(out, number(v))
	}
	if n := r.failed[peer]; n > 0 {
		out = append(out, fmt.Sprintf("(%d failed)", n))
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, " ")
}

// judgeRatios is the ratio to the best other peer with its range over the rounds and its
// target, the ratio to the floor with its target, and after each target the result.
func (r row) judgeRatios() []string {
	between := "-"
	if r.low > 0 {
		between = ratioText(r.low) + " to " + ratioText(r.high)
	}
	best, floor := r.compareWithAim(r.ratio, r.aim), r.compareWithAim(r.toFloor, r.floorAim)
	return append([]string{best[0], between, best[1], best[2]}, floor...)
}

// compareWithAim is a ratio, its target, and the result.
func (r row) compareWithAim(ratio, aim float64) []string {
	out := []string{"-", "-", ""}
	if ratio > 0 {
		out[0] = ratioText(ratio)
	}
	if aim > 0 {
		sign := "≥ "
		if r.unit != perSecond {
			sign = "≤ "
		}
		out[1] = sign + fmt.Sprint(aim)
		if ratio > 0 {
			out[2] = map[bool]string{true: "reached", false: "missed"}[r.reached(ratio, aim)]
		}
	}
	return out
}

func ratioText(v float64) string {
	if v >= 20 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// number is a figure without insignificant digits.
func number(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
