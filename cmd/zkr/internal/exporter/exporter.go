package exporter

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// refreshPeriod is how often the series are made again.
	refreshPeriod = 2 * time.Second
	// retryPeriod is how long the exporter waits after the tree could not be read.
	retryPeriod = 10 * time.Second
)

// Exporter has the metrics of a tree. Run keeps it up to date, Handler serves it.
type Exporter struct {
	root   string
	labels *paths
	terms  *terms
	moves  *moves
	audit  doctor.Auditor

	// mu guards the rest: client, model and inspector are nil before the first connection; tree
	// has the series, which were made at the time made and show everything until the time asOf;
	// failure says why the tree cannot be read. refreshed and took are of the last refresh, also
	// if its series are no longer current.
	mu     sync.Mutex
	client *session.Client
	model  *ui.Model
	// inspector is called by one goroutine.
	inspector  func(context.Context, []*doctor.Server) []doctor.Finding
	tree       page
	made, asOf time.Time
	failure    error
	refreshed  time.Time
	took       time.Duration
	losses     int
	failures   map[string]int // by their causes
}

// New makes an exporter of the tree below root, with the paths of up to maxPaths things as
// labels.
func New(root string, maxPaths int) *Exporter {
	e := &Exporter{root: root, labels: newPaths(maxPaths), terms: newTerms(), moves: newMoves(), failures: map[string]int{}}
	for _, cause := range []string{causeNoPermission, causeCredentials, causeOther} {
		e.failures[cause] = 0
	}
	return e
}

// Run follows the tree until ctx ends. If the tree cannot be read, Run tries again.
func (e *Exporter) Run(ctx context.Context, client *session.Client) error {
	for {
		model := ui.NewModel(client, e.root)
		e.set(func() { e.client, e.model, e.inspector = client, model, model.Inspector() })
		err := e.follow(ctx, model)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.set(func() {
			e.failure = err
			e.failures[causeOf(err)]++
			e.dropSeriesLocked()
		})
		pause := time.NewTimer(retryPeriod)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// Audit asks the servers for findings until ctx ends: those that the client uses, and until
// there is one those at the addresses; and their admin servers at a port, unless that is 0.
func (e *Exporter) Audit(ctx context.Context, addresses []string, adminPort int) {
	e.audit.Inspect, e.audit.AdminPort = e.inspect, adminPort
	e.audit.Run(ctx, func() []string {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.client != nil {
			return e.client.Servers()
		}
		return addresses
	}, nil)
}

// inspect finds what needs attention in the znodes, if there is a connection.
func (e *Exporter) inspect(ctx context.Context, all []*doctor.Server) []doctor.Finding {
	e.mu.Lock()
	inspector := e.inspector
	e.mu.Unlock()
	if inspector == nil {
		return nil
	}
	return inspector(ctx, all)
}

func (e *Exporter) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// follow runs the model, and makes the series of its views.
func (e *Exporter) follow(ctx context.Context, model *ui.Model) error {
	over := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	// Waited for above; ends with ctx, or when the tree cannot be read.
	running.Go(func() { over <- model.Run(ctx) })
	ticker := time.NewTicker(refreshPeriod)
	defer ticker.Stop()
	for {
		e.refresh(model)
		select {
		case <-ticker.C:
		case err := <-over:
			return err
		}
	}
}

// refresh makes the series of the present view. A view that may be old has none: the model
// can be current again before the next refresh, and the series of the last one are not.
func (e *Exporter) refresh(model *ui.Model) {
	began := time.Now()
	view, asOf := model.ViewAsOf()
	if !view.Health.Loaded || view.Health.Stale {
		e.set(e.dropSeriesLocked)
		return
	}
	tree := e.seriesOf(view, time.Now()).encode()
	e.set(func() {
		e.tree, e.made, e.asOf, e.failure = tree, began, asOf, nil
		e.refreshed, e.took = began, time.Since(began)
	})
}

// dropSeriesLocked needs mu held.
func (e *Exporter) dropSeriesLocked() { e.tree, e.made, e.asOf = page{}, time.Time{}, time.Time{} }

// Observe counts the sessions that are lost: the exporter is an observer of its client.
func (e *Exporter) Observe(_ context.Context, ev observe.Event) {
	if s, ok := ev.(observe.SessionChanged); ok && s.Status == session.Lost.String() {
		e.set(func() { e.losses++ })
	}
}

// The causes for which a tree cannot be read.
const (
	causeNoPermission = "no_permission" // the root's access control list refuses the exporter
	causeCredentials  = "credentials"   // the server refuses the exporter's
	causeOther        = "other"
)

func causeOf(err error) string {
	switch {
	case errors.Is(err, session.ErrNoAuth):
		return causeNoPermission
	case errors.Is(err, session.ErrAuthFailed):
		return causeCredentials
	}
	return causeOther
}

// IsCurrent reports whether a scrape would have the series of the tree.
func (e *Exporter) IsCurrent() bool { return e.sample().current }

// Failure says why the tree cannot be read; nil while it can.
func (e *Exporter) Failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failure
}

// sample is what a scrape goes by: whether ZooKeeper answers, whether the series of the tree
// are current, and the state of the exporter itself.
type sample struct {
	up, current bool
	tree        page
	asOf        time.Time
	refreshed   time.Time
	took        time.Duration
	losses      int
	failures    map[string]int
	// read and pending are the znodes of the first load while loading.
	loading       bool
	read, pending int
}

func (e *Exporter) sample() sample {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := sample{refreshed: e.refreshed, took: e.took, losses: e.losses, failures: maps.Clone(e.failures)}
	if e.model == nil {
		return out
	}
	h, state := e.model.Health(), e.client.State()
	connected := state.Status == session.Connected
	out.up = connected && !h.Stale
	out.loading, out.read, out.pending = !h.Loaded, h.Entries, h.Pending
	// Series that show the tree as it was before the connection, or that were not made again in
	// time, may be old. The model is not stale as soon as there is a connection, and reads then
	// what has changed.
	inTime := !e.asOf.Before(state.Since) && time.Since(e.made) < 3*refreshPeriod
	if connected && h.Loaded && !h.Stale && e.failure == nil && inTime {
		out.current, out.tree, out.asOf = true, e.tree, e.asOf
	}
	return out
}
