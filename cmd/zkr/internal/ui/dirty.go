package ui

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

const (
	// maxDirty is how many paths are kept while the model does not look: names of
	// contenders are never used again, so their number would grow without a limit.
	maxDirty = 50_000
	// prompt is the greatest delay of a look after which a change still counts
	// as just made.
	prompt = 2 * idle
)

// dirty collects the changes since the last look.
type dirty struct {
	// wake, with room for one element, signals a change.
	wake chan struct{}

	// mu guards the fields below: since and until are the times of the first and the
	// last change; all is set if everything may have changed, and paths is nil then.
	mu    sync.Mutex
	paths map[string]struct{}
	all   bool
	since time.Time
	until time.Time
}

func newDirty() dirty { return dirty{wake: make(chan struct{}, 1)} }

// noteEvent records a change.
func (d *dirty) noteEvent(ev cache.Event[*recognize.Node]) {
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
	if d.until = time.Now(); d.since.IsZero() {
		d.since = d.until
	}
	d.signalChange()
}

func (d *dirty) signalChange() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// hasChanges reports whether there are changes.
func (d *dirty) hasChanges() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all || len(d.paths) > 0
}

// span is when the first and the last change came; zero without changes.
func (d *dirty) span() (since, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since, d.until
}

// takeChanges takes the changes out. late: the first change has waited for long.
func (d *dirty) takeChanges(now time.Time) (paths map[string]struct{}, all, late bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	paths, all, late = d.paths, d.all, !d.since.IsZero() && now.Sub(d.since) > prompt
	d.paths, d.all, d.since, d.until = nil, false, time.Time{}, time.Time{}
	return paths, all, late
}
