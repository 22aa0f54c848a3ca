package exporter

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// refreshPeriod is how often the series are made again.
	refreshPeriod = 2 * time.Second
	// retryPeriod is how long the exporter waits after the tree could not be read.
	retryPeriod = 10 * time.Second
)

// Exporter is a collector of a tree's metrics. Run keeps it up to date.
type Exporter struct {
	root   string
	labels *paths
	terms  *terms
	audit  doctor.Auditor

	// mu guards the rest: client, model and inspector are nil before the first connection; series are those of
	// the view at the time made; failure says why the tree cannot be read.
	mu     sync.Mutex
	client *session.Client
	model  *ui.Model
	// inspector is called by one goroutine.
	inspector func(context.Context, []*doctor.Server) []doctor.Finding
	series    []prometheus.Metric
	made      time.Time
	failure   error
}

// New makes an exporter of the tree below root, with the paths of up to maxPaths things as
// labels.
func New(root string, maxPaths int) *Exporter {
	return &Exporter{root: root, labels: newPaths(maxPaths), terms: newTerms()}
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
		e.set(func() { e.failure, e.series, e.made = err, nil, time.Time{} })
		pause := time.NewTimer(retryPeriod)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// Audit asks the servers for findings until ctx ends: those that the client uses, and until
// there is one those at the addresses.
func (e *Exporter) Audit(ctx context.Context, addresses []string) {
	e.audit.Inspect = e.inspect
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
		if view := model.View(); view.Health.Loaded && !view.Health.Stale {
			series := e.seriesOf(view, time.Now())
			e.set(func() { e.series, e.made, e.failure = series, time.Now(), nil })
		}
		select {
		case <-ticker.C:
		case err := <-over:
			return err
		}
	}
}

// IsCurrent reports whether a scrape would have the series of the tree.
func (e *Exporter) IsCurrent() bool { return e.sample().current }

// Failure says why the tree cannot be read; nil while it can.
func (e *Exporter) Failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failure
}

// sample is what a scrape goes by: whether ZooKeeper answers, and whether the series, made
// at the time made, are current.
type sample struct {
	up, current bool
	series      []prometheus.Metric
	made        time.Time
}

func (e *Exporter) sample() sample {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.model == nil {
		return sample{}
	}
	h := e.model.Health()
	return sample{
		up:      e.client.State().Status == session.Connected && !h.Stale,
		current: h.Loaded && !h.Stale && e.failure == nil && !e.made.IsZero(),
		series:  e.series, made: e.made,
	}
}

// Describe describes nothing: the series depend on the tree.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect writes the exporter's own state, the findings about the servers, and the series of
// the tree while they are current.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	now := e.sample()
	e.collectFindings(to)
	gauge(to, upDesc, boolean(now.up))
	gauge(to, currentDesc, boolean(now.current))
	if !now.current {
		return
	}
	gauge(to, ageDesc, time.Since(now.made).Seconds())
	for _, m := range now.series {
		to <- m
	}
}

// collectFindings writes the findings about the servers: also those without a quorum answer.
func (e *Exporter) collectFindings(to chan<- prometheus.Metric) {
	r := e.audit.Report()
	if r.At.IsZero() {
		return
	}
	gauge(to, auditAgeDesc, time.Since(r.At).Seconds())
	seen := map[[3]string]bool{} // a server may have two findings of a name
	for _, f := range r.Findings {
		if k := [3]string{f.Name, string(f.Level), f.Where}; !seen[k] {
			seen[k] = true
			to <- prometheus.MustNewConstMetric(findingDesc.desc, prometheus.GaugeValue, 1, k[:]...)
		}
	}
}

func gauge(to chan<- prometheus.Metric, m *metric, value float64) {
	to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, value)
}

func boolean(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
