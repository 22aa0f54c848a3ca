package exporter

import "github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"

// terms counts the changes of leaders that the exporter has seen.
type terms struct {
	leaders map[string]recognize.Tenure
	changes map[string]float64
}

func newTerms() *terms {
	return &terms{leaders: map[string]recognize.Tenure{}, changes: map[string]float64{}}
}

// countChange notes the leader of the election at path, nil for none, and returns the number of
// changes: of leaders that came after another one, or after none.
func (t *terms) countChange(path string, leader *recognize.Contender) float64 {
	if leader == nil {
		return t.changes[path]
	}
	last, known := t.leaders[path]
	if known && last != leader.Tenure() {
		t.changes[path]++
	}
	t.leaders[path] = leader.Tenure()
	return t.changes[path]
}

// keep forgets the elections whose paths do not exist. An election without candidates is
// none that the dashboard recognizes, and is one again with the next candidate.
func (t *terms) keep(exists func(path string) bool) {
	for path := range t.leaders {
		if !exists(path) {
			delete(t.leaders, path)
			delete(t.changes, path)
		}
	}
}
