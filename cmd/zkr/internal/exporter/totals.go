package exporter

// totals are the values of a counter by the label of the path. A value never decreases
// while the series exists: several paths may share a label, and what one of them has
// counted stays when it goes.
type totals struct {
	labels map[string]string  // by path
	values map[string]float64 // by label
}

func newTotals() totals {
	return totals{labels: map[string]string{}, values: map[string]float64{}}
}

// add adds n, which may be 0, to the series of a path.
func (t *totals) add(path, label string, n int) {
	t.labels[path] = label
	t.values[label] += float64(n)
}

// keep forgets the paths that do not exist, and the series of no path. The series of the
// label "other" stays: its next path would otherwise begin from 0.
func (t *totals) keep(exists func(path string) bool) {
	used := map[string]bool{other: true}
	for path, label := range t.labels {
		if !exists(path) {
			delete(t.labels, path)
			continue
		}
		used[label] = true
	}
	for label := range t.values {
		if !used[label] {
			delete(t.values, label)
		}
	}
}

// addTo adds the series to a batch.
func (t *totals) addTo(b *batch, d *metric) {
	for label, value := range t.values {
		b.add(d, value, label)
	}
}
