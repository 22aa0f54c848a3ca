package prom

import "github.com/prometheus/client_golang/prometheus"

const namespace = "zkrecipes"

// metrics are the collectors of an observer, but for what is computed for each
// scrape: ages, samples, caches and groups.
type metrics struct {
	waiting, held                  *prometheus.GaugeVec
	waits, holds                   *prometheus.HistogramVec
	losses, rounds                 *prometheus.CounterVec
	operations, conflicts, unknown *prometheus.CounterVec
	unresolved                     *prometheus.CounterVec
	batches, transactions          *prometheus.HistogramVec
	attempts                       prometheus.Counter
	loads                          *prometheus.HistogramVec
	memberChanges                  *prometheus.CounterVec
	rebalances                     *prometheus.HistogramVec
	moves                          *prometheus.CounterVec
	assignments                    *prometheus.HistogramVec
	taskChanges                    *prometheus.CounterVec
	taskStates                     *prometheus.HistogramVec
	clients                        *prometheus.GaugeVec
	sessionChanges                 *prometheus.CounterVec
	trustLow                       prometheus.Counter
	heartbeats                     *prometheus.HistogramVec
	requests                       *prometheus.CounterVec
	requestTimes                   *prometheus.HistogramVec

	all []prometheus.Collector
}

func newMetrics(buckets []float64) *metrics {
	m := &metrics{}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
		m.all = append(m.all, v)
		return v
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
		m.all = append(m.all, v)
		return v
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
		m.all = append(m.all, v)
		return v
	}
	const kind, path, result = "kind", "path", "result"
	m.waiting = gauge("waiting", "Waits in progress.", kind, path)
	m.waits = histogram("wait_seconds", "Duration of waits that ended.", kind, path, result)
	m.held = gauge("held", "What is held now.", kind, path)
	m.holds = histogram("hold_seconds", "Duration of holds that ended.", kind, path, "end")
	m.losses = counter("losses_total", "Holds that were lost.", kind, path)
	m.rounds = counter("rounds_total", "Rounds of barriers that were passed.", path)

	m.operations = counter("batch_operations_total", "Operations of counters and values.", path)
	m.batches = histogram("batch_seconds", "Duration of batches of counters and values.", path, result)
	m.conflicts = counter("batch_conflicts_total", "Batches of counters and values that another client was faster than.", path)
	m.transactions = histogram("transaction_seconds", "Duration of transactions.", result)
	m.attempts = counter("transaction_attempts_total", "Runs of the functions of transactions.").WithLabelValues()
	m.unknown = counter("unknown_outcomes_total", "Replies that were lost, and whose outcome was found out.", "what")
	m.unresolved = counter("unresolved_outcomes_total", "Calls that ended without knowing whether their write was carried out.", "what")

	m.loads = histogram("cache_load_seconds", "Time until a cache was current.", path)

	m.memberChanges = counter("member_changes_total", "Workers that joined, left or died.", path, "change")
	m.rebalances = histogram("rebalance_seconds", "Time until an assignment was carried out.", path, result)
	m.moves = counter("rebalance_moves_total", "Resources that got another owner.", path)
	m.assignments = histogram("assignment_seconds", "Time until a member had what it was assigned, and nothing else.", path)
	m.taskChanges = counter("task_changes_total", "Changes of tasks' states.", path, "from", "to")
	m.taskStates = histogram("task_state_seconds", "Time that tasks were in a state.", path, "state")

	m.clients = gauge("clients", "Clients by the status of their session.", "status")
	m.sessionChanges = counter("session_changes_total", "Changes of sessions to a status.", "status")
	m.trustLow = counter("trust_low_total", "How often a session with holds came close to their loss.").WithLabelValues()
	m.heartbeats = histogram("heartbeat_seconds", "Duration of heartbeats.", result)
	m.requests = counter("requests_total", "Requests to the servers.", "op", result)
	m.requestTimes = histogram("request_seconds", "Time until the reply to a request.", "op")
	m.countFromZero()
	return m
}

// countMembersFromZero makes the counters of the rare changes of a job's workers, with the
// first change that is seen.
func (m *metrics) countMembersFromZero(path string) {
	for _, change := range []string{"failed", "died"} {
		m.memberChanges.WithLabelValues(path, change)
	}
}

// countTasksFromZero makes the counters of the rare changes of a queue's tasks, with the first
// change that is seen.
func (m *metrics) countTasksFromZero(path string) {
	for _, end := range []string{"failed", "dead"} {
		m.taskChanges.WithLabelValues(path, "assigned", end)
		m.taskChanges.WithLabelValues(path, "waiting", end)
	}
}

// countFromZero makes the counters of rare events that have few labels: a counter that appears
// with its first event has no increase then. The counter of losses begins with the first hold.
func (m *metrics) countFromZero() {
	for _, status := range []string{"connected", "suspended", "lost", "closed"} {
		m.sessionChanges.WithLabelValues(status)
	}
	for _, what := range []string{"counter", "transaction", "barrier", "job", "tasks"} {
		m.unresolved.WithLabelValues(what)
	}
}
