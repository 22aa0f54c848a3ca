package exporter

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of the exporter itself, and those that only series made one after another
// have.
var (
	refreshDesc   = desc("refresh_seconds", "How long the last look at the tree took, until its series were made.")                                  // read only
	refreshedDesc = desc("last_refresh_timestamp_seconds", "Time of the last look at the tree that made series.")                                    // read only
	lossesDesc    = desc("session_losses_total", "Sessions that the exporter has lost.")                                                             // read only
	failuresDesc  = desc("read_failures_total", "How often the tree could not be read, by cause: no_permission, credentials, other.", "cause")       // read only
	loadedDesc    = desc("load_znodes", "Znodes that the first load has read; only while it is in progress.")                                        // read only
	loadingDesc   = desc("load_pending_znodes", "Reads that the first load still has to do, as far as it knows them; only while it is in progress.") // read only

	movesDesc          = desc("rebalance_moves_total", "Resources that have got another owner, as the exporter has seen.", "path")                       // read only
	oldestAssignedDesc = desc("oldest_assigned_task_seconds", "How long the task has been assigned to its worker that has been so for longest.", "path") // read only
)

// own collects everything but the series of the tree, for one scrape.
type own struct {
	*Exporter
	now sample
}

// Describe describes nothing: what there is depends on the moment.
func (own) Describe(chan<- *prometheus.Desc) {}

// Collect writes the exporter's own state, and the findings about the servers.
func (o own) Collect(to chan<- prometheus.Metric) {
	o.collectFindings(to)
	gauge(to, upDesc, boolean(o.now.up))
	gauge(to, currentDesc, boolean(o.now.current))
	if o.now.current {
		gauge(to, ageDesc, time.Since(o.now.asOf).Seconds())
	}
	if !o.now.refreshed.IsZero() {
		gauge(to, refreshDesc, o.now.took.Seconds())
		gauge(to, refreshedDesc, float64(o.now.refreshed.UnixMilli())/1000)
	}
	if o.now.loading {
		gauge(to, loadedDesc, float64(o.now.read))
		gauge(to, loadingDesc, float64(o.now.pending))
	}
	to <- prometheus.MustNewConstMetric(lossesDesc.desc, prometheus.CounterValue, float64(o.now.losses))
	for cause, n := range o.now.failures {
		to <- prometheus.MustNewConstMetric(failuresDesc.desc, prometheus.CounterValue, float64(n), cause)
	}
}

// collectFindings writes the findings about the servers: also those without a quorum answer. A
// finding may be about a path: the number of these is bounded, as everywhere.
func (o own) collectFindings(to chan<- prometheus.Metric) {
	r := o.audit.Report()
	if r.At.IsZero() {
		return
	}
	gauge(to, auditAgeDesc, time.Since(r.At).Seconds())
	paths, values := newPaths(o.labels.most), map[[3]string]float64{}
	for _, f := range r.Findings {
		where, isPath := f.Where, strings.HasPrefix(f.Where, "/")
		if isPath {
			where = paths.of(where)
		}
		k := [3]string{f.Name, string(f.Level), strings.ToValidUTF8(where, "\uFFFD")}
		if isPath && where == other {
			values[k]++
		} else {
			values[k] = 1 // a server may have two findings of a name
		}
	}
	for k, value := range values {
		to <- prometheus.MustNewConstMetric(findingDesc.desc, prometheus.GaugeValue, value, k[:]...)
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
