package otel

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics of an observer, but for those of sessions.
type instruments struct {
	waits, holds, batches, transactions, loads, rebalances, assignments, taskStates, heartbeats, requests metric.Float64Histogram
	waiting, holding, caches, current, clients                                                            metric.Int64UpDownCounter
	rounds, operations, conflicts, unknown, unresolved, attempts                                          metric.Int64Counter
	memberChanges, moves, taskChanges, changes, trustLow                                                  metric.Int64Counter
}

// maker makes instruments, and keeps their errors.
type maker struct {
	metric.Meter
	failed error
}

func (m *maker) histogram(name, text string) metric.Float64Histogram {
	h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500))
	m.failed = errors.Join(m.failed, err)
	return h
}

func (m *maker) upDown(name, unit, text string) metric.Int64UpDownCounter {
	c, err := m.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.failed = errors.Join(m.failed, err)
	return c
}

func (m *maker) counter(name, unit, text string) metric.Int64Counter {
	c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.failed = errors.Join(m.failed, err)
	return c
}

func (m *maker) gauge(name, unit, text string) metric.Int64ObservableGauge {
	g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.failed = errors.Join(m.failed, err)
	return g
}

func (m *maker) seconds(name, text string) metric.Float64ObservableGauge {
	g, err := m.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	m.failed = errors.Join(m.failed, err)
	return g
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	m := &maker{Meter: meter}
	return &instruments{
		waits:         m.histogram("zkrecipes.wait.duration", "Duration of waits that ended."),
		waiting:       m.upDown("zkrecipes.wait.active", "{wait}", "Waits in progress."),
		holds:         m.histogram("zkrecipes.hold.duration", "Duration of holds that ended."),
		holding:       m.upDown("zkrecipes.hold.active", "{hold}", "What is held now."),
		rounds:        m.counter("zkrecipes.barrier.rounds", "{round}", "Rounds of barriers that were passed."),
		batches:       m.histogram("zkrecipes.batch.duration", "Duration of batches of counters and values."),
		operations:    m.counter("zkrecipes.batch.operations", "{operation}", "Operations of counters and values."),
		conflicts:     m.counter("zkrecipes.batch.conflicts", "{conflict}", "Batches that another client was faster than."),
		transactions:  m.histogram("zkrecipes.transaction.duration", "Duration of transactions."),
		attempts:      m.counter("zkrecipes.transaction.attempts", "{attempt}", "Runs of the functions of transactions."),
		unknown:       m.counter("zkrecipes.outcome.unknown", "{reply}", "Replies that were lost, and whose outcome was found out."),
		unresolved:    m.counter("zkrecipes.outcome.unresolved", "{call}", "Calls that ended without knowing whether their write was carried out."),
		loads:         m.histogram("zkrecipes.cache.load.duration", "Time until a cache was current."),
		caches:        m.upDown("zkrecipes.cache.running", "{cache}", "Caches that run."),
		current:       m.upDown("zkrecipes.cache.current", "{cache}", "Caches that are current."),
		memberChanges: m.counter("zkrecipes.member.changes", "{change}", "Workers that joined, left or died."),
		assignments:   m.histogram("zkrecipes.assignment.duration", "Time until a member had what it was assigned, and nothing else."),
		rebalances:    m.histogram("zkrecipes.rebalance.duration", "Time until an assignment was carried out."),
		moves:         m.counter("zkrecipes.rebalance.moves", "{resource}", "Resources that got another owner."),
		taskChanges:   m.counter("zkrecipes.task.changes", "{change}", "Changes of tasks' states."),
		taskStates:    m.histogram("zkrecipes.task.state.duration", "Time that tasks were in a state."),
		clients:       m.upDown("zkrecipes.session.clients", "{client}", "Clients by the status of their session."),
		changes:       m.counter("zkrecipes.session.changes", "{change}", "Changes of sessions to a status."),
		trustLow:      m.counter("zkrecipes.session.trust_low", "{event}", "How often a session with holds came close to their loss."),
		heartbeats:    m.histogram("zkrecipes.session.heartbeat", "Duration of heartbeats."),
		requests:      m.histogram("db.client.operation.duration", "Duration of requests to the servers."),
	}, m.failed
}
