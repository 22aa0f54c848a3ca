package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// row is a lock or an election in the table.
type row struct {
	*recognize.Thing
	Held    *tenure // of the first holder; nil if unknown
	Waiters int
	// First has waited longest, since Since; nil without waiters.
	First *recognize.Contender
	Since time.Time
}

func newRow(t *recognize.Thing) *row {
	r := &row{Thing: t}
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

func (r *row) facets() []string { return facetsOf(r.Thing) }

func (r *row) key() string { return keyOfBlock(r.Thing) }

// keyOfBlock identifies a thing on a page.
func keyOfBlock(t *recognize.Thing) string { return string(t.Kind) + " " + escapePath(t.Path) }

// heldSince is the beginning of the hold; zero if unknown.
func (r *row) heldSince() time.Time {
	if r.Held == nil {
		return time.Time{}
	}
	return r.Held.Since
}

func (r *row) compareTo(other *row, o order) int {
	var c int
	switch o.By {
	case sortWaiting:
		c = o.direct(cmp.Compare(r.Waiters, other.Waiters))
	case sortHeld:
		c = o.compareAges(r.heldSince(), other.heldSince())
	case sortLongest:
		c = o.compareAges(r.Since, other.Since)
	default:
		c = o.compareThings(r.Thing, other.Thing)
	}
	return cmp.Or(c, strings.Compare(r.Path, other.Path))
}

// drawLocks draws the locks, or the elections, as a table.
func (d *drawing) drawLocks() []web.Block {
	all := d.Kinds(d.page.kinds...)
	t := table[*row]{template: "row", all: len(all), empty: d.pageEmpty()}
	for _, thing := range d.matchingThings(all) {
		t.lines = append(t.lines, newRow(thing))
	}
	holder, held := "Held by", "Held for"
	t.facets = []string{facetProblem, facetHeld, facetWaited, facetFree}
	if slices.Contains(d.page.kinds, recognize.Election) {
		holder, held = "Led by", "Led for"
		t.facets = []string{facetProblem, facetLed, facetLeadless, facetWaited}
	}
	t.columns = []column{
		{Name: "Kind"}, {Name: "Path", At: sortPath}, {Name: holder}, {Name: held, At: sortHeld, Class: alignRight},
		{Name: "Waiting", At: sortWaiting, Class: alignRight}, {Name: "Longest wait", At: sortLongest, Class: alignRight},
	}
	return drawTable(d, t, d.drawTitle(len(all)))
}

// alignRight is the class of columns of numbers and times.
const alignRight = "right"
