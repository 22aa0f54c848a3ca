package exporter

import "github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"

// moves counts the resources of rebalancers that have got another owner. A move that
// begins and ends between two looks counts too.
type moves struct {
	last  map[string]*owners // by the path of the rebalancer
	total totals
}

// owners are the owners of a rebalancer's resources.
type owners struct {
	of   *recognize.Thing // as of which; a thing does not change
	path map[string]string
}

func newMoves() *moves { return &moves{last: map[string]*owners{}, total: newTotals()} }

// count counts the resources whose owner is another one than their last owner.
func (m *moves) count(t *recognize.Thing, label string) {
	last := m.last[t.Path]
	if last != nil && last.of == t {
		m.total.add(t.Path, label, 0)
		return
	}
	now, n := &owners{of: t, path: map[string]string{}}, 0
	for _, member := range t.Shares.Members {
		for resource, cell := range member.Cells {
			if cell != recognize.Comes {
				now.path[resource] = member.Path
			}
		}
	}
	if last != nil {
		for _, resource := range t.Shares.Resources {
			was, known := last.path[resource]
			is, owned := now.path[resource]
			switch {
			case known && !owned:
				now.path[resource] = was // the next owner is compared with it
			case known && was != is:
				n++
			}
		}
	}
	m.last[t.Path] = now
	m.total.add(t.Path, label, n)
}

// keep forgets the rebalancers whose paths do not exist.
func (m *moves) keep(exists func(path string) bool) {
	for path := range m.last {
		if !exists(path) {
			delete(m.last, path)
		}
	}
	m.total.keep(exists)
}
