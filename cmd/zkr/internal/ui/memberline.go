package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
)

// workerLine is a worker in the list of a job's workers.
type workerLine struct {
	recognize.Worker
	rank int // in the default order
}

// workerOrder is the default order of the states: what needs attention comes first.
func workerOrder() []string {
	return []string{jobformat.Dead, jobformat.Failed, recognize.Unknown, jobformat.Running, jobformat.Left}
}

func (w *workerLine) facets() []string { return []string{w.State} }

func (w *workerLine) key() string { return escapePath(w.Path) }

// Class is the color of the state.
func (w *workerLine) Class() string {
	switch w.State {
	case jobformat.Running:
		return "good"
	case jobformat.Dead:
		return string(recognize.Bad)
	case jobformat.Failed:
		return string(recognize.Warn)
	}
	return ""
}

func (w *workerLine) compareTo(other *workerLine, o order) int {
	var c int
	switch o.By {
	case sortName:
		c = o.direct(compareNames(w.Name, other.Name))
	case sortAttempt:
		c = o.direct(cmp.Compare(w.Incarnation, other.Incarnation))
	case sortNumber:
		c = o.direct(cmp.Compare(w.ID, other.ID))
	case sortSince:
		c = o.compareAges(w.Since, other.Since)
	default:
		c = cmp.Compare(w.rank, other.rank)
	}
	return cmp.Or(c, cmp.Compare(w.ID, other.ID), strings.Compare(w.Path, other.Path))
}

// drawWorkers draws the workers of a job that have joined as a table.
func (d *drawing) drawWorkers(job *recognize.Thing) []web.Block {
	all := job.Job.Workers
	t := table[*workerLine]{
		template: "workerline", all: len(all), facets: workerOrder(),
		empty: emptyNote{Things: "workers", Where: job.Path, Try: "zkr job join " + shellWord(job.Job.Name) + jobRoot(parentPath("/", job.Path)) + " -- sleep 60"},
		columns: []column{
			{Name: "State"}, {Name: "Worker", At: sortName}, {Name: "Node and failure"}, {Name: "Incarnation", At: sortAttempt, Class: alignRight},
			{Name: "ID", At: sortNumber, Class: alignRight}, {Name: "Since", At: sortSince, Class: alignRight},
		},
	}
	for _, w := range all {
		if d.Filter == "" || hasWords(d.Filter, append([]string{w.Name, w.State, w.Node, w.Failure, w.Session.String()}, w.Addresses...)) {
			t.lines = append(t.lines, &workerLine{w, slices.Index(t.facets, w.State)})
		}
	}
	return drawTable(d, t, d.drawOwner(job, "Workers", len(all)))
}

// The states of instances, as in addresses of pages.
const (
	facetReady    = "ready"
	facetDisabled = "disabled"
	facetBroken   = "broken"
)

// instanceLine is an instance in the list of a service's instances.
type instanceLine struct{ recognize.Member }

// State is whether clients use the instance.
func (i *instanceLine) State() string {
	switch {
	case i.Broken != "":
		return facetBroken
	case i.Disabled:
		return facetDisabled
	}
	return facetReady
}

// Class is the color of the state.
func (i *instanceLine) Class() string {
	return map[string]string{facetBroken: string(recognize.Bad), facetDisabled: string(recognize.Warn), facetReady: "good"}[i.State()]
}

func (i *instanceLine) facets() []string { return []string{i.State()} }

func (i *instanceLine) key() string { return escapePath(i.Path) }

func (i *instanceLine) compareTo(other *instanceLine, o order) int {
	var c int
	switch o.By {
	case sortName:
		c = o.direct(compareNames(i.Name(), other.Name()))
	case sortSince:
		c = o.compareAges(i.Since, other.Since)
	default:
		states := [...]string{facetBroken, facetDisabled, facetReady}
		c = cmp.Or(cmp.Compare(slices.Index(states[:], i.State()), slices.Index(states[:], other.State())), compareNames(i.Name(), other.Name()))
	}
	return cmp.Or(c, strings.Compare(i.Path, other.Path))
}

// drawInstances draws the instances of a service as a table.
func (d *drawing) drawInstances(service *recognize.Thing) []web.Block {
	all := service.Members
	t := table[*instanceLine]{
		template: "instanceline", all: len(all), facets: []string{facetReady, facetDisabled, facetBroken},
		empty: emptyNote{Things: "instances", Where: service.Path, Try: registerCommand(service.Path)},
		columns: []column{
			{Name: "State"}, {Name: "Instance", At: sortName}, {Name: "Address"}, {Name: "Type"}, {Name: "Session"}, {Name: "Registered", At: sortSince, Class: alignRight},
		},
	}
	for _, m := range all {
		l := &instanceLine{m}
		if d.Filter == "" || hasWords(d.Filter, []string{m.ID, m.Address, m.Data, m.Type, l.State(), m.Session.String()}) {
			t.lines = append(t.lines, l)
		}
	}
	return drawTable(d, t, d.drawOwner(service, "Instances", len(all)))
}
