package exporter

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// desc describes a metric; its name begins with zkr_.
func desc(name, help string, labels ...string) *metric {
	return &metric{name: "zkr_" + name, help: help, labels: labels, desc: prometheus.NewDesc("zkr_"+name, help, labels, nil)}
}

// metric is a metric of the exporter.
type metric struct {
	name, help string
	labels     []string
	desc       *prometheus.Desc
}

// isCounter reports whether the metric is a counter.
func (m *metric) isCounter() bool { return strings.HasSuffix(m.name, "_total") }

// MetricNames are the names of all metrics that depend on ZooKeeper.
func MetricNames() []string { return slices.Sorted(maps.Keys(MetricLabels())) }

// MetricLabels are the names of the labels of all metrics that depend on ZooKeeper.
func MetricLabels() map[string][]string {
	out := map[string][]string{}
	for _, m := range []*metric{
		refreshDesc, refreshedDesc, lossesDesc, failuresDesc, loadedDesc, loadingDesc, movesDesc, oldestAssignedDesc,
		upDesc, currentDesc, ageDesc, findingDesc, auditAgeDesc, znodesDesc, ephemeralsDesc, unreadableDesc, sessionsDesc, thingsDesc, problemsDesc, problemDesc,
		heldDesc, waitingDesc, longestWaitDesc, longestHoldDesc, termDesc, changesDesc, permitsDesc, partiesDesc, closedDesc, valueDesc,
		membersDesc, entriesDesc, jobsDesc, jobSizeDesc, jobWorkersDesc, rebalanceMembersDesc, rebalanceResourcesDesc, rebalanceEpochDesc,
		tasksDesc, tasksMaxDesc, oldestTaskDesc, taskWorkersDesc, taskMasterDesc, tasksPausedDesc,
	} {
		out[m.name] = m.labels
	}
	return out
}

// The metrics. Their names are part of the tool's interface: the dashboard for Grafana and
// the rules for alerts use them (deploy/prometheus).
var (
	upDesc      = desc("up", "1 while ZooKeeper answers the exporter, otherwise 0.")                                         // read only
	currentDesc = desc("view_current", "1 while the series of the tree are current; otherwise 0, and there are none.")       // read only
	ageDesc     = desc("view_age_seconds", "Age of the series of the tree: they have everything that the server knew then.") // read only

	findingDesc  = desc("finding", "1 for each finding of zkr doctor, by its name, level (bad, warn, hint) and place; findings about too many paths are counted at the place other.", "name", "level", "where") // read only
	auditAgeDesc = desc("audit_age_seconds", "Time since the servers were asked for findings.")                                                                                                                 // read only

	znodesDesc     = desc("znodes", "Znodes below the root.")                                                                                               // read only
	ephemeralsDesc = desc("ephemeral_znodes", "Ephemeral znodes below the root.")                                                                           // read only
	unreadableDesc = desc("unreadable_znodes", "Znodes that the exporter may not read.")                                                                    // read only
	sessionsDesc   = desc("sessions", "Sessions with ephemeral znodes.")                                                                                    // read only
	thingsDesc     = desc("things", "Recognized locks, elections, jobs and so on, by kind.", "kind")                                                        // read only
	problemsDesc   = desc("problems", "Problems by the kind of thing and by level: bad, warn, hint.", "kind", "level")                                      // read only
	problemDesc    = desc("thing_problems", "Problems of a thing by level (bad, warn, hint) and code, such as orphan.", "kind", "path", "level", "problem") // read only

	heldDesc        = desc("holders", "Contenders that hold, or lead.", "kind", "path")                              // read only
	waitingDesc     = desc("waiting", "Contenders that wait.", "kind", "path")                                       // read only
	longestWaitDesc = desc("longest_wait_seconds", "Age of the oldest contender that waits.", "kind", "path")        // read only
	longestHoldDesc = desc("longest_hold_seconds", "How long the oldest holder has held, at least.", "kind", "path") // read only
	termDesc        = desc("leader_term", "Number of the leader's term.", "path")                                    // read only
	changesDesc     = desc("leader_changes_total", "Changes of the leader that the exporter has seen.", "path")      // read only
	permitsDesc     = desc("permits", "Permits of a semaphore: total, held.", "path", "state")                       // read only

	partiesDesc = desc("barrier_parties", "Parties of a barrier: expected, here, missing.", "kind", "path", "state") // read only
	closedDesc  = desc("gate_closed", "1 while a gate is closed, otherwise 0.", "path")                              // read only
	valueDesc   = desc("counter_value", "Value of a counter.", "path")                                               // read only
	membersDesc = desc("members", "Members of a group, or instances of a service.", "kind", "path")                  // read only
	entriesDesc = desc("queue_entries", "Entries of a queue of another library.", "path")                            // read only

	jobsDesc       = desc("jobs", "Jobs by state.", "state")                                                                  // read only
	jobSizeDesc    = desc("job_size", "Workers that a job wants.", "path")                                                    // read only
	jobWorkersDesc = desc("job_workers", "Workers of a job by state: running, left, failed, dead, missing.", "path", "state") // read only

	rebalanceMembersDesc   = desc("rebalance_members", "Members of a rebalancer.", "path")                                             // read only
	rebalanceResourcesDesc = desc("rebalance_resources", "Resources of a rebalancer by state: all, moving, unowned.", "path", "state") // read only
	rebalanceEpochDesc     = desc("rebalance_epoch", "Epoch of a rebalancer: it grows with each coordinator.", "path")                 // read only

	tasksDesc       = desc("tasks", "Tasks of a queue by state.", "path", "state")                                                                       // read only
	tasksMaxDesc    = desc("tasks_max", "Capacity of a queue of tasks.", "path")                                                                         // read only
	oldestTaskDesc  = desc("oldest_waiting_task_seconds", "How long the task has waited that has been ready for longest: not during its delay.", "path") // read only
	taskWorkersDesc = desc("task_workers", "Workers of a queue of tasks.", "path")                                                                       // read only
	taskMasterDesc  = desc("task_master", "1 while a queue of tasks has a master, otherwise 0.", "path")                                                 // read only
	tasksPausedDesc = desc("tasks_paused", "1 while a queue of tasks is paused, otherwise 0.", "path")                                                   // read only
)
