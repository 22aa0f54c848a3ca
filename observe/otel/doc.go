// Package otel has an observer that makes OpenTelemetry spans and metrics of what the
// recipes and sessions of a client do.
//
//	observer, err := otel.New(&otel.Options{TracerProvider: tp, MeterProvider: mp})
//	client, err := session.Connect(ctx, servers, &session.Options{Observer: observer})
//
// # Spans
//
// Each wait is a span "wait lock", "wait leadership" and so on, a child of the span in the
// context that was passed to Lock, Campaign and the like. Its event "queued" has the number
// of contenders ahead. A wait that failed has the status Error; one that its caller gave up
// has the attribute zkrecipes.result = "given_up".
//
// Each hold is a span "hold lock" and so on, in the same trace, with a link to the span of
// its wait. It has the status Error if the hold was lost.
//
// Transactions, batches of counters, rounds of barriers and changes of tasks are events of
// the span in their context, if there is one.
//
// Attributes: zkrecipes.kind, zkrecipes.path, zkrecipes.znode, zkrecipes.token,
// zkrecipes.session (hexadecimal, as the servers log it), zkrecipes.result, zkrecipes.end,
// zkrecipes.local and, by OpenTelemetry's semantic conventions, error.type and, for
// requests, db.system.name = "zookeeper" and db.operation.name.
//
// # Metrics
//
//	zkrecipes.wait.duration      s          histogram: zkrecipes.kind, zkrecipes.result
//	zkrecipes.wait.active        {wait}     up-down counter: zkrecipes.kind
//	zkrecipes.hold.duration      s          histogram: zkrecipes.kind, zkrecipes.end
//	zkrecipes.hold.active        {hold}     up-down counter: zkrecipes.kind
//	zkrecipes.rebalance.duration s          histogram
//	zkrecipes.session.changes    {change}   counter: zkrecipes.status
//	zkrecipes.session.heartbeat  s          histogram: error.type
//	db.client.operation.duration s          histogram: db.system.name, db.operation.name, zkrecipes.result
//
// Metrics have no path unless [Options.PathAttribute] gives one, because each value of an
// attribute costs a series.
package otel
