package prom

import (
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/observe"
)

// Options of [New]. nil and the zero value mean all defaults.
type Options struct {
	// PathLabel is the label for a path of a recipe; default: the path. Kind is empty for
	// what is neither waited for nor held.
	PathLabel func(kind observe.Kind, path string) string
	// MaxPaths is how many different labels for paths the observer keeps; default 200.
	// Further ones become "other".
	MaxPaths int
	// Buckets are the upper bounds of the histograms, in seconds; default: 1, 2.5 and 5
	// times the powers of ten from 1 ms to 500 s.
	Buckets []float64
}

// DefaultMaxPaths is the default of [Options.MaxPaths].
const DefaultMaxPaths = 200

// other is the label of the paths that are too many.
const other = "other"

func defaultBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500}
}

// paths bounds the number of labels for paths.
type paths struct {
	label func(observe.Kind, string) string
	most  int

	mu    sync.Mutex // guards known, which has at most most labels
	known map[string]struct{}
}

func newPaths(o Options) *paths {
	p := &paths{label: o.PathLabel, most: o.MaxPaths, known: map[string]struct{}{}}
	if p.label == nil {
		p.label = func(_ observe.Kind, path string) string { return path }
	}
	if p.most <= 0 {
		p.most = DefaultMaxPaths
	}
	return p
}

// of is the label of path, which is valid UTF-8.
func (p *paths) of(kind observe.Kind, path string) string {
	label := strings.ToValidUTF8(p.label(kind, path), "\uFFFD")
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[label]; known {
		return label
	}
	if len(p.known) >= p.most {
		return other
	}
	p.known[label] = struct{}{}
	return label
}

// kindLabel is the label of a kind, an end, an outcome or a result.
func kindLabel[T ~string](k T) string { return strings.ReplaceAll(string(k), " ", "_") }
