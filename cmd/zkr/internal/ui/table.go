package ui

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// perTable is the number of lines on a page of a table: 100 lines take some 100 kB.
const perTable = 100

// The columns that a table is sorted by, as in addresses of pages. Without one, lines
// with problems come first.
const (
	sortPath      = "path"
	sortHeld      = "held"
	sortWaiting   = "waiting"
	sortLongest   = "longest"
	sortName      = "name"
	sortNumber    = "number"
	sortAttempt   = "attempt"
	sortPriority  = "priority"
	sortInstances = "instances"
	sortReady     = "ready"
	sortSince     = "since"
	sortOwner     = "owner"
)

// order is the order of a table.
type order struct {
	By string
	// Up: the smallest, or the shortest time, first.
	Up bool
}

// parseOrder parses the parameters sort and dir; anything unknown is the default.
func parseOrder(form url.Values) order {
	by := form.Get("sort")
	switch by {
	case sortPath, sortName, sortNumber, sortOwner:
		return order{by, form.Get("dir") != "desc"}
	case sortHeld, sortWaiting, sortLongest, sortAttempt, sortPriority, sortInstances, sortReady, sortSince:
		return order{by, form.Get("dir") == "asc"}
	}
	return order{}
}

// direct turns a comparison in the direction of the order.
func (o order) direct(c int) int {
	if !o.Up {
		return -c
	}
	return c
}

// compareAges orders by the time since two moments. Unknown moments come last in both
// directions.
func (o order) compareAges(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return asBit(a.IsZero()) - asBit(b.IsZero())
	}
	return o.direct(b.Compare(a))
}

// compareThings orders things by path, if the order says so, or those with problems first.
func (o order) compareThings(a, b *recognize.Thing) int {
	if o.By == sortPath {
		return o.direct(strings.Compare(a.Path, b.Path))
	}
	return cmp.Compare(rankOf(a), rankOf(b))
}

// line is a line of a table.
type line[L any] interface {
	// facets are the states of the line, as in addresses of pages.
	facets() []string
	// compareTo orders two lines.
	compareTo(other L, o order) int
	// key identifies the line on the page.
	key() string
}

// table is a list of lines, which links narrow to a state, sort and cut into parts.
type table[L line[L]] struct {
	// template draws a line.
	template string
	facets   []string
	columns  []column
	// lines match the filter; all is the number without the filter.
	lines []L
	all   int
	empty emptyNote
}

// column is the head of a column, with the link that sorts by it.
type column struct {
	Name, At, Class string
	// Mark shows the present order; "" for another column.
	Mark string
}

// facetLink is a facet with its number of lines; its link shows these alone.
type facetLink struct {
	Name, At string
	N        int
	Here     bool
}

// drawTable draws a table: a block for each line, with a key of its own. title draws what
// is above, with the number of shown lines.
func drawTable[L line[L]](d *drawing, t table[L], title func(shown int) []web.Block) []web.Block {
	counts, lines := map[string]int{}, make([]L, 0, len(t.lines))
	for _, l := range t.lines {
		facets := l.facets()
		for _, f := range facets {
			counts[f]++
		}
		if d.Facet == "" || slices.Contains(facets, d.Facet) {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b L) int { return a.compareTo(b, d.Order) })
	shown, p := cutPage(d, lines, perTable)
	out := title(len(lines))
	if t.all > 0 {
		out = append(out, d.renderBlock("facets", "", d.facetLinks(t.facets, len(t.lines), counts)))
	}
	if len(shown) > 0 {
		out = append(out, d.renderBlock("tablehead", "", d.sortLinks(t.columns)))
	}
	for _, l := range shown {
		out = append(out, d.renderKeyed(t.template, l.key(), "row", l))
	}
	return d.endList(out, t.empty, p)
}

// facetLinks are the facets of a table; the first shows all lines.
func (d *drawing) facetLinks(names []string, all int, counts map[string]int) []facetLink {
	out := []facetLink{{"all", d.link("state", ""), all, d.Facet == ""}}
	for _, name := range names {
		out = append(out, facetLink{name, d.link("state", name), counts[name], d.Facet == name})
	}
	return out
}

// sortLinks completes the heads of the columns that a table can be sorted by.
func (d *drawing) sortLinks(columns []column) []column {
	for i := range columns {
		c := &columns[i]
		if c.At == "" {
			continue
		}
		by, dir := c.At, ""
		if d.Order.By == by {
			c.Mark = map[bool]string{true: "ascending", false: "descending"}[d.Order.Up]
			// A second click turns the order around.
			dir = map[bool]string{true: "desc", false: "asc"}[d.Order.Up]
		}
		c.At = d.link("sort", by, "dir", dir)
	}
	return columns
}

// drawTitle draws the heading of a page's table.
func (d *drawing) drawTitle(all int) func(shown int) []web.Block {
	return func(shown int) []web.Block {
		return []web.Block{d.renderBlock("title", "", d.drawHeading(all, shown))}
	}
}

// drawMatch draws a thing among things of all kinds: a lock, an election or a service as a
// row, and a job or a task queue with a link to its list.
func (d *drawing) drawMatch(t *recognize.Thing) web.Block {
	if t.Kind == recognize.Service {
		r := newServiceRow(t)
		return d.renderKeyed("servicerow", r.key(), "", r)
	}
	if isLock(t.Kind) || t.Kind == recognize.Election {
		r := newRow(t)
		return d.renderKeyed("row", r.key(), "", r)
	}
	if t.Job != nil || t.Tasks != nil {
		return d.renderKeyed("brief", keyOfBlock(t), "", t)
	}
	return d.drawThing(t)
}
