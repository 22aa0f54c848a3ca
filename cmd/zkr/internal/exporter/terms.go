package exporter

import "github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"

// terms counts the changes of leaders that the exporter has seen.
type terms struct {
	leaders map[string]recognize.Tenure
	changes totals
}

func newTerms() *terms {
	return &terms{leaders: map[string]recognize.Tenure{}, changes: newTotals()}
}

// noteLeader notes the leader of the election at path, nil for none. A leader that comes
// after another one, or after none, is a change.
func (t *terms) noteLeader(path, label string, leader *recognize.Contender) {
	n := 0
	if leader != nil {
		if last, known := t.leaders[path]; known && last != leader.Tenure() {
			n = 1
		}
		t.leaders[path] = leader.Tenure()
	}
	t.changes.add(path, label, n)
}

// keep forgets the elections whose paths do not exist. An election without candidates is
// none that the dashboard recognizes, and is one again with the next candidate.
func (t *terms) keep(exists func(path string) bool) {
	for path := range t.leaders {
		if !exists(path) {
			delete(t.leaders, path)
		}
	}
	t.changes.keep(exists)
}
