package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
)

// The states of resources, as in addresses of pages.
const (
	facetOwned   = "owned"
	facetMoving  = "moving"
	facetUnowned = "unowned"
)

// resourceOrder is the default order of the states: what needs attention comes first.
func resourceOrder() []string { return []string{facetUnowned, facetMoving, facetOwned} }

// resourceLine is a resource in the list of a rebalancer's resources.
type resourceLine struct {
	Name, Path, State string
	// Owner is the member that owns it; nil for none. Next is the id of the member that takes
	// it over; "" if it does not move.
	Owner *recognize.ShareMember
	Next  string
	rank  int // in the default order
}

// Class is the color of the state.
func (r *resourceLine) Class() string {
	return map[string]string{facetOwned: "good", facetMoving: string(recognize.Warn), facetUnowned: string(recognize.Bad)}[r.State]
}

// OwnerID is the id of the owner; "" for none.
func (r *resourceLine) OwnerID() string {
	if r.Owner == nil {
		return ""
	}
	return r.Owner.ID
}

func (r *resourceLine) facets() []string { return []string{r.State} }

func (r *resourceLine) key() string { return escapePath(r.Path) }

func (r *resourceLine) compareTo(other *resourceLine, o order) int {
	var c int
	switch o.By {
	case sortName:
		c = o.direct(compareNames(r.Name, other.Name))
	case sortOwner:
		c = o.direct(compareNames(r.OwnerID(), other.OwnerID()))
	default:
		c = cmp.Compare(r.rank, other.rank)
	}
	return cmp.Or(c, compareNames(r.Name, other.Name), strings.Compare(r.Path, other.Path))
}

// resourceLines are the resources of a group.
func resourceLines(group *recognize.Thing) []*resourceLine {
	s := group.Shares
	owners, next := map[string]*recognize.ShareMember{}, map[string]string{}
	for i := range s.Members {
		for name, cell := range s.Members[i].Cells {
			if cell != recognize.Comes {
				owners[name] = &s.Members[i]
			}
		}
	}
	for _, m := range s.Moves {
		next[m.Resource] = m.To
	}
	out := make([]*resourceLine, 0, len(s.Resources))
	for _, name := range s.Resources {
		r := &resourceLine{Name: name, Path: group.Path + "/" + shareformat.DirResources + "/" + name, State: facetOwned, Owner: owners[name], Next: next[name]}
		switch _, moves := next[name]; {
		case moves:
			r.State = facetMoving
		case r.Owner == nil:
			r.State = facetUnowned
		}
		r.rank = slices.Index(resourceOrder(), r.State)
		out = append(out, r)
	}
	return out
}

// drawResources draws the resources of a group as a table.
func (d *drawing) drawResources(group *recognize.Thing) []web.Block {
	all := resourceLines(group)
	t := table[*resourceLine]{
		template: "resourceline", all: len(all), facets: resourceOrder(),
		empty:   emptyNote{Things: "resources", Where: group.Path, Try: "zkr rebalance add " + shellWord(group.Path) + " resource-1 resource-2"},
		columns: []column{{Name: "State"}, {Name: "Resource", At: sortName}, {Name: "Owner", At: sortOwner}, {Name: "Session"}, {}, {}},
	}
	for _, r := range all {
		if d.Filter == "" || hasWords(d.Filter, []string{r.Name, r.State, r.OwnerID(), r.Next}) {
			t.lines = append(t.lines, r)
		}
	}
	return drawTable(d, t, d.drawOwner(group, "Resources", len(all)))
}
