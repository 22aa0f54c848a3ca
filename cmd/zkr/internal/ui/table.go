package ui

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// perTable is the number of rows on a page of the table: 100 rows take some 100 kB.
const perTable = 100

// The columns that a table is sorted by, as in addresses of pages. Without one, things
// with problems come first, and things without waiters last.
const (
	sortPath    = "path"
	sortHeld    = "held"
	sortWaiting = "waiting"
	sortLongest = "longest"
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
	case sortPath:
		return order{by, form.Get("dir") != "desc"}
	case sortHeld, sortWaiting, sortLongest:
		return order{by, form.Get("dir") == "asc"}
	}
	return order{}
}

// row is a lock or an election in the table.
type row struct {
	*recognize.Thing
	Held    *tenure // of the first holder; nil if unknown
	Waiters int
	// First has waited longest, since Since; nil without waiters.
	First *recognize.Contender
	Since time.Time
}

func newRow(t *recognize.Thing) row {
	r := row{Thing: t}
	for _, c := range t.Queue {
		if c.Holds {
			if held := heldBy(c); held != nil && (r.Held == nil || held.Since.Before(r.Held.Since)) {
				r.Held = held
			}
			continue
		}
		if r.Waiters++; !c.Entered.IsZero() && (r.First == nil || c.Entered.Before(r.Since)) {
			r.First, r.Since = c, c.Entered
		}
	}
	return r
}

// compareRows orders rows. Rows without a value come last, in both directions.
func (o order) compareRows(a, b *row) int {
	var c int
	switch o.By {
	case sortPath:
		c = strings.Compare(a.Path, b.Path)
	case sortWaiting:
		c = cmp.Compare(a.Waiters, b.Waiters)
	case sortHeld:
		if a.Held == nil || b.Held == nil {
			c = asBit(a.Held == nil) - asBit(b.Held == nil)
			return cmp.Or(c, strings.Compare(a.Path, b.Path))
		}
		c = b.Held.Since.Compare(a.Held.Since)
	case sortLongest:
		if a.First == nil || b.First == nil {
			c = asBit(a.First == nil) - asBit(b.First == nil)
			return cmp.Or(c, strings.Compare(a.Path, b.Path))
		}
		c = b.Since.Compare(a.Since)
	default:
		return cmp.Or(cmp.Compare(rankOf(a.Thing), rankOf(b.Thing)), strings.Compare(a.Path, b.Path))
	}
	if !o.Up {
		c = -c
	}
	return cmp.Or(c, strings.Compare(a.Path, b.Path))
}

// column is the head of a column, with the link that sorts by it.
type column struct {
	Name, At, Class string
	// Mark shows the present order; "" for another column.
	Mark string
}

// facetLink is a facet with its number of things; its link shows these alone.
type facetLink struct {
	Name, At string
	N        int
	Here     bool
}

// drawTable draws the things of a page as a table: a row each, with a key of its own.
func (d *drawing) drawTable() []web.Block {
	all := d.Kinds(d.page.kinds...)
	matching := d.matchingThings(all)
	counts, rows := map[string]int{}, make([]row, 0, len(matching))
	for _, t := range matching {
		facets := facetsOf(t)
		for _, f := range facets {
			counts[f]++
		}
		if d.Facet == "" || slices.Contains(facets, d.Facet) {
			rows = append(rows, newRow(t))
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return d.Order.compareRows(&a, &b) })
	shown, p := cutPage(d, rows, perTable)
	out := []web.Block{d.renderBlock("title", "", d.drawHeading(len(all), len(rows)))}
	if len(all) > 0 {
		out = append(out, d.renderBlock("facets", "", d.facetLinks(len(matching), counts)))
	}
	if len(shown) > 0 {
		out = append(out, d.renderBlock("tablehead", "", d.columns()))
	}
	for _, r := range shown {
		out = append(out, d.renderKeyed("row", string(r.Kind)+" "+escapePath(r.Path), "row", r))
	}
	return d.endList(out, len(rows), p)
}

// drawMatch draws a thing among things of all kinds: a lock or an election as a row.
func (d *drawing) drawMatch(t *recognize.Thing) web.Block {
	if isLock(t.Kind) || t.Kind == recognize.Election {
		return d.renderKeyed("row", string(t.Kind)+" "+escapePath(t.Path), "", newRow(t))
	}
	return d.drawThing(t)
}

// facetLinks are the facets of a page; the first shows all things.
func (d *drawing) facetLinks(all int, counts map[string]int) []facetLink {
	names := []string{facetProblem, facetHeld, facetWaited, facetFree}
	if slices.Contains(d.page.kinds, recognize.Election) {
		names = []string{facetProblem, facetLed, facetLeadless, facetWaited}
	}
	out := []facetLink{{"all", d.link("state", ""), all, d.Facet == ""}}
	for _, name := range names {
		out = append(out, facetLink{name, d.link("state", name), counts[name], d.Facet == name})
	}
	return out
}

// columns are the heads of the columns.
func (d *drawing) columns() []column {
	holder, held := "Held by", "Held for"
	if slices.Contains(d.page.kinds, recognize.Election) {
		holder, held = "Led by", "Led for"
	}
	out := []column{{Name: "Path", At: sortPath}, {Name: holder}, {Name: held, At: sortHeld, Class: "right"}, {Name: "Waiting", At: sortWaiting, Class: "right"}, {Name: "Longest wait", At: sortLongest, Class: "right"}}
	for i := range out {
		c := &out[i]
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
	return out
}

// link is the address of this page with other parameters, from its first part on.
func (d *drawing) link(change ...string) string {
	v := d.parameters()
	for i := 0; i < len(change); i += 2 {
		v.Set(change[i], change[i+1])
	}
	for name := range v {
		if v.Get(name) == "" {
			v.Del(name)
		}
	}
	return "?" + v.Encode()
}

// parameters are those of the page, without the part.
func (d *drawing) parameters() url.Values {
	v := url.Values{}
	v.Set("q", d.Filter)
	v.Set("path", d.Path)
	for name, value := range d.hidden() {
		v.Set(name, value)
	}
	return v
}

// hidden are the parameters that the form of the filter keeps.
func (q *question) hidden() map[string]string {
	out := map[string]string{}
	if q.Facet != "" {
		out["state"] = q.Facet
	}
	if q.Order.By != "" {
		out["sort"], out["dir"] = q.Order.By, map[bool]string{true: "asc", false: "desc"}[q.Order.Up]
	}
	return out
}

// MomentLink is the address of the page at another moment, a history.Mark or its text.
func (d *drawing) MomentLink(mark any) string { return d.link("at", fmt.Sprint(mark)) }

// Kept are the parameters that a form keeps, apart from the moment.
func (d *drawing) Kept() map[string]string {
	out := map[string]string{}
	for name, values := range d.parameters() {
		if values[0] != "" {
			out[name] = values[0]
		}
	}
	return out
}

// PageLink is the address of a part of the list.
func (d *drawing) PageLink(n int) string { return d.link("page", strconv.Itoa(n)) }

// Numbers are the numbers of parts to link to: the first and the last two, and those
// around the present part; 0 stands for a gap.
func (p paging) Numbers() (out []int) {
	for n := 1; n <= p.Pages; n++ {
		switch {
		case n <= 2, n > p.Pages-2, n >= p.Page-2 && n <= p.Page+2:
			out = append(out, n)
		case out[len(out)-1] != 0:
			out = append(out, 0)
		}
	}
	return out
}

// IsNarrowed reports whether the reader has asked for some things only.
func (q *question) IsNarrowed() bool { return q.Filter != "" || q.Facet != "" }
