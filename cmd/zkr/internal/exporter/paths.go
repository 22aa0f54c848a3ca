package exporter

// other is the label of the paths that are too many.
const other = "other"

// paths bounds the number of labels for paths. A path that has a label keeps it until the
// thing is gone, whatever else comes.
type paths struct {
	most  int
	known map[string]bool // to whether it was seen since begin
}

func newPaths(most int) *paths { return &paths{most: most, known: map[string]bool{}} }

// beginScan begins a new look at all things.
func (p *paths) beginScan() {
	for path := range p.known {
		p.known[path] = false
	}
}

// keep keeps the label of path if it has one.
func (p *paths) keep(path string) {
	if _, known := p.known[path]; known {
		p.known[path] = true
	}
}

// end forgets the paths that were not kept.
func (p *paths) end() {
	for path, seen := range p.known {
		if !seen {
			delete(p.known, path)
		}
	}
}

// of is the label of path.
func (p *paths) of(path string) string {
	if _, known := p.known[path]; known {
		return path
	}
	if len(p.known) >= p.most {
		return other
	}
	p.known[path] = true
	return path
}
