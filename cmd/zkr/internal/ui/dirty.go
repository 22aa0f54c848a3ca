package ui

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

const (
	// maxDirty is how many paths are kept while nobody looks: names of contenders are
	// never used again, so there is no end of them.
	maxDirty = 50_000
	// prompt is the greatest delay of a look after which a change still counts
	// as just made.
	prompt = 2 * idle
)

// dirty collects the changes since the last look.
type dirty struct {
	// wake, with room for one element, signals a change.
	wake chan struct{}

	// mu guards the fields below: since is the time of the first change; all is
	// set if everything may have changed, and paths is nil then.
	mu    sync.Mutex
	paths map[string]struct{}
	all   bool
	since time.Time
}

func newDirty() dirty { return dirty{wake: make(chan struct{}, 1)} }

// note takes a change in.
func (d *dirty) note(ev cache.Event[*recognize.Node]) {
	if ev.Kind == cache.EventSnapshot {
		d.noteAll()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begunLocked()
	if d.paths == nil {
		d.paths = map[string]struct{}{}
	}
	if d.paths[ev.Path()] = struct{}{}; d.all || len(d.paths) > maxDirty {
		d.paths, d.all = nil, true
	}
}

// noteAll notes that everything may have changed.
func (d *dirty) noteAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begunLocked()
	d.paths, d.all = nil, true
}

func (d *dirty) begunLocked() {
	if d.since.IsZero() {
		d.since = time.Now()
	}
	d.ring()
}

func (d *dirty) ring() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// some reports whether there is something.
func (d *dirty) some() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all || len(d.paths) > 0
}

// take takes the changes out. late: nobody has looked at the first of them for long.
func (d *dirty) take(now time.Time) (paths map[string]struct{}, all, late bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	paths, all, late = d.paths, d.all, !d.since.IsZero() && now.Sub(d.since) > prompt
	d.paths, d.all, d.since = nil, false, time.Time{}
	return paths, all, late
}
