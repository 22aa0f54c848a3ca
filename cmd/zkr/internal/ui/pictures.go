package ui

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// maxChips is how many of a queue are drawn.
const maxChips = 16

// chip is a contender in the picture of a queue.
type chip struct {
	*recognize.Contender
	Class string
	// Link is the relation to the previous contender: beside, watching the
	// previous, or watching a contender farther ahead.
	Link, Says string
	Leads      bool
}

// chainOf is a queue as a picture.
type chainOf struct {
	Chips []chip
	Rest  int
}

// drawQueue draws a queue as a row. Each contender watches the previous one, unless
// its link shows another relation.
func drawQueue(t *recognize.Thing) chainOf {
	var out chainOf
	for i, c := range t.Queue[:min(len(t.Queue), maxChips)] {
		p := chip{Contender: c, Leads: c.Holds && t.Kind == recognize.Election}
		var class []string
		if c.Holds {
			class = append(class, "holds")
		}
		if c.Role != "" {
			class = append(class, c.Role+"s")
		}
		if c.Odd != "" {
			class = append(class, "odd")
		}
		p.Class = strings.Join(class, " ")
		p.Link, p.Says = describeRelation(t, i)
		out.Chips = append(out.Chips, p)
	}
	out.Rest = len(t.Queue) - len(out.Chips)
	return out
}

// tenure is the beginning of a hold. Unless Sure, the hold may be older.
type tenure struct {
	Since time.Time
	Sure  bool
}

// heldBy is a contender's tenure, or nil.
func heldBy(c *recognize.Contender) *tenure {
	switch {
	case !c.Holds:
		return nil
	case !c.Since.IsZero():
		return &tenure{c.Since, true}
	case !c.AtLeast.IsZero():
		return &tenure{c.AtLeast, false}
	}
	return nil
}

// describeRelation describes the contender at place i in relation to the previous one.
func describeRelation(t *recognize.Thing, i int) (class, says string) {
	c := t.Queue[i]
	switch {
	case c.Holds:
		return "beside", ""
	case c.Outside && c.Priority > 0:
		return "beside", "waits until it is the next by its priority"
	case c.Outside:
		return "beside", "waits until the queue is shorter"
	case len(c.Watches) == 0:
		return "beside", ""
	case slices.Contains(c.Watches, i-1) && len(c.Watches) == 1:
		return "", "watches " + t.Queue[i-1].Name()
	}
	var names []string
	for _, w := range c.Watches[:min(len(c.Watches), 3)] {
		names = append(names, t.Queue[w].Name())
	}
	return "far", "watches " + strings.Join(names, ", ")
}

// watchedNames names, for the shown waiters that do not watch the previous contender,
// the watched contenders.
func watchedNames(t *recognize.Thing) []string {
	var out []string
	for i, c := range t.Queue[:min(len(t.Queue), maxChips)] {
		if class, says := describeRelation(t, i); class == "far" {
			out = append(out, c.Name()+" "+says)
		}
	}
	return out
}

// drawHistory draws a history as a line: the counter's value over time.
func drawHistory(points []Point) template.HTML {
	const width, height = 300.0, 44.0
	if len(points) < 2 {
		return ""
	}
	first, last := points[0].At, points[len(points)-1].At
	lo, hi := points[0].Value, points[0].Value
	for _, p := range points {
		lo, hi = min(lo, p.Value), max(hi, p.Value)
	}
	span, room := last.Sub(first).Seconds(), float64(hi)-float64(lo)
	var line strings.Builder
	for i, p := range points {
		x, y := 0.0, height/2
		if span > 0 {
			x = p.At.Sub(first).Seconds() / span * width
		}
		if room > 0 {
			y = (height - 3) - (float64(p.Value)-float64(lo))/room*(height-6)
		}
		if i == 0 {
			fmt.Fprintf(&line, "M%.1f %.1f", x, y)
		} else {
			fmt.Fprintf(&line, "L%.1f %.1f", x, y)
		}
	}
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %.0f %.0f" preserveAspectRatio="none" role="img" aria-label="from %d to %d">`+
		`<path class="area" d="%sL%.0f %.0fL0 %.0fZ"/><path d="%s"/></svg>`, width, height, lo, hi, line.String(), width, height, height, line.String())) // numbers
}

// part is a stretch of a bar.
type part struct {
	Class, Name string
	N           int
}

// drawBar draws parts of a whole.
func drawBar(parts []part) template.HTML {
	const width = 1000
	total := 0
	for _, p := range parts {
		total += p.N
	}
	var b strings.Builder
	b.WriteString(`<svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="1000" height="8"/>`)
	at := 0
	for i, sum := 0, 0; total > 0 && i < len(parts); i++ {
		sum += parts[i].N
		to := int(int64(width) * int64(sum) / int64(total))
		if parts[i].N > 0 && parts[i].Class != "" {
			fmt.Fprintf(&b, `<rect class="%s" x="%d" width="%d" height="8"/>`, parts[i].Class, at, max(2, to-at))
		}
		at = to
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // numbers and our own words
}

// jobParts are a job's workers by state.
func jobParts(j *recognize.JobState) []part {
	return []part{{"good", "running", j.Running}, {"wait", "left", j.Left}, {"bad", "dead", j.Dead}, {"warn", "failed", j.Failed}, {"faint", "unknown", j.Unknown}, {"", "missing", j.Missing}}
}

// taskParts are a queue's tasks by state.
func taskParts(s *recognize.TaskState) []part {
	classes := map[string]string{"waiting": "wait", "assigned": "accent", "done": "good", "failed": "warn", "canceled": "faint", "dead": "bad"}
	var out []part
	for _, state := range recognize.TaskStates() {
		out = append(out, part{classes[state], state, s.Counts[state]})
	}
	return out
}

// cell is a worker of a job in the picture of all.
type cell struct {
	Class, Text, Title string
}

// maxCells is how many workers of a job are drawn: ten jobs of any size fit on a page.
const maxCells = 128

// workerCells are a job's workers by their ids.
func workerCells(j *recognize.JobState) []cell {
	var out []cell
	at := 0
	for id := 0; id < j.Size && len(out) < maxCells; id++ {
		c := cell{Class: "missing", Text: strconv.Itoa(id), Title: "has never joined"}
		for at < len(j.Workers) && j.Workers[at].ID < id {
			at++
		}
		if at < len(j.Workers) && j.Workers[at].ID == id {
			w := j.Workers[at]
			c.Class, c.Title = w.State, w.Name+": "+w.State
		}
		out = append(out, c)
	}
	return out
}

// grid shows the members of a group and their resources.
type grid struct {
	Columns []string
	Rows    []gridRow
	Rest    int // columns not shown
	Others  int // and rows
}

type gridRow struct {
	recognize.ShareMember
	Count int
	Cells []recognize.Cell
}

// maxColumns bounds the drawn resources, those in transit first; maxRows bounds
// the members. Ten groups of any size fit on a page.
const (
	maxColumns = 32
	maxRows    = 12
)

// ownerMatrix draws the owners of the resources.
func ownerMatrix(s *recognize.ShareState) grid {
	var g grid
	moving := map[string]bool{}
	for _, m := range s.Moves {
		moving[m.Resource] = true
	}
	g.Columns = s.Resources
	if len(g.Columns) > maxColumns {
		g.Columns = slices.Clone(g.Columns)
		slices.SortStableFunc(g.Columns, func(a, b string) int { return asBit(moving[b]) - asBit(moving[a]) })
		g.Rest = len(g.Columns) - maxColumns
		g.Columns = g.Columns[:maxColumns]
	}
	g.Others = max(0, len(s.Members)-maxRows)
	for _, m := range firstOf(maxRows, s.Members) {
		row := gridRow{ShareMember: m}
		for _, c := range m.Cells {
			if c != recognize.Comes {
				row.Count++
			}
		}
		for _, name := range g.Columns {
			row.Cells = append(row.Cells, m.Cells[name])
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func asBit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// permitDots are a semaphore's permits: true for held permits.
func permitDots(p *recognize.Permits) []bool {
	const most = 64
	if p.Total > most {
		return nil
	}
	out := make([]bool, p.Total)
	for i := range out {
		out[i] = i < p.Held
	}
	return out
}

// slots are the places of a barrier; a place without a party is empty.
type slotsOf struct {
	Here    []recognize.Member
	Empty   []int
	Missing int
}

func partySlots(m *recognize.Meeting) slotsOf {
	out := slotsOf{Here: m.Here[:min(len(m.Here), maxChips)]}
	if len(m.Inside) == 0 || len(m.Here) > 0 { // otherwise no party is missing
		out.Missing = m.Missing()
	}
	for i := range min(out.Missing, maxChips) {
		out.Empty = append(out.Empty, i)
	}
	return out
}
