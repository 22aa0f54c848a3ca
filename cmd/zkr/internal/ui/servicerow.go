package ui

import (
	"cmp"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// facetDown is the state of a service without an instance that clients can use.
const facetDown = "down"

// shownAddresses is how many addresses a row has.
const shownAddresses = 3

// serviceRow is a service in the table of services.
type serviceRow struct {
	*recognize.Thing
	Ready int // instances that clients use
	// Newest is the last registration; zero if unknown.
	Newest time.Time
}

func newServiceRow(t *recognize.Thing) *serviceRow {
	r := &serviceRow{Thing: t}
	for _, m := range t.Members {
		r.Ready += asBit(!m.Disabled && m.Broken == "")
		if m.Since.After(r.Newest) {
			r.Newest = m.Since
		}
	}
	return r
}

// Addresses are those of the first instances.
func (r *serviceRow) Addresses() (out []string) {
	for _, m := range firstOf(shownAddresses, r.Members) {
		if m.Address != "" {
			out = append(out, m.Address)
		}
	}
	return out
}

func (r *serviceRow) facets() (out []string) {
	if len(r.Problems) > 0 {
		out = append(out, facetProblem)
	}
	if r.Ready == 0 {
		return append(out, facetDown)
	}
	return append(out, facetReady)
}

func (r *serviceRow) key() string { return keyOfBlock(r.Thing) }

func (r *serviceRow) compareTo(other *serviceRow, o order) int {
	var c int
	switch o.By {
	case sortInstances:
		c = o.direct(cmp.Compare(len(r.Members), len(other.Members)))
	case sortReady:
		c = o.direct(cmp.Compare(r.Ready, other.Ready))
	case sortSince:
		c = o.compareAges(r.Newest, other.Newest)
	default:
		c = o.compareThings(r.Thing, other.Thing)
	}
	return cmp.Or(c, strings.Compare(r.Path, other.Path))
}

// drawServices draws the services as a table.
func (d *drawing) drawServices() []web.Block {
	all := d.Kinds(d.page.kinds...)
	t := table[*serviceRow]{
		template: "servicerow", all: len(all), empty: d.pageEmpty(), facets: []string{facetProblem, facetReady, facetDown},
		columns: []column{
			{Name: "Kind"}, {Name: "Path", At: sortPath}, {Name: "State"}, {Name: "Instances", At: sortInstances, Class: alignRight},
			{Name: "Ready", At: sortReady, Class: alignRight}, {Name: "Newest", At: sortSince, Class: alignRight},
		},
	}
	for _, thing := range d.matchingThings(all) {
		t.lines = append(t.lines, newServiceRow(thing))
	}
	return drawTable(d, t, d.drawTitle(len(all)))
}
