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
// of contenders ahead. zkrecipes.result is "granted", "given_up" (by the caller),
// "not_granted" (TryLock and the like, if another client holds or waits) or "failed"; a wait
// that failed has the status Error.
//
// Each hold is a span "hold lock" and so on, in the same trace, with a link to the span of
// its wait. zkrecipes.end is "released", "handed_over", "unconfirmed" or "lost"; the last two
// have the status Error. zkrecipes.trust_left of a hold that was lost is how many seconds before
// the servers' deadline that was (see observe.HoldEnded).
//
// Transactions, batches of counters, rounds of barriers, changes of tasks and calls that leave
// an outcome unknown are events of the span in their context, if there is one.
//
// Attributes: zkrecipes.kind, zkrecipes.path, zkrecipes.znode, zkrecipes.token,
// zkrecipes.session (hexadecimal, as the servers log it), zkrecipes.result, zkrecipes.end,
// zkrecipes.trust_left, zkrecipes.local and, by OpenTelemetry's semantic conventions, error.type and, for
// requests, db.system.name = "zookeeper" and db.operation.name. error.type is one of
// expired, trust_ran_out, node_deleted, closed, unknown_outcome, deadline, canceled, refused,
// invalid_argument, lost, connection_lost and _OTHER: the first that is true of the error.
//
// # Metrics
//
//	zkrecipes.wait.duration          s            histogram: zkrecipes.kind, zkrecipes.result
//	zkrecipes.wait.active            {wait}       up-down counter: zkrecipes.kind
//	zkrecipes.hold.duration          s            histogram: zkrecipes.end, zkrecipes.kind
//	zkrecipes.hold.active            {hold}       up-down counter: zkrecipes.kind
//	zkrecipes.barrier.rounds         {round}      counter
//	zkrecipes.batch.duration         s            histogram: zkrecipes.result
//	zkrecipes.batch.operations       {operation}  counter
//	zkrecipes.batch.conflicts        {conflict}   counter
//	zkrecipes.transaction.duration   s            histogram: zkrecipes.result
//	zkrecipes.transaction.attempts   {attempt}    counter
//	zkrecipes.outcome.unknown        {reply}      counter: zkrecipes.what
//	zkrecipes.outcome.unresolved     {call}       counter: zkrecipes.what
//	zkrecipes.cache.load.duration    s            histogram
//	zkrecipes.cache.running          {cache}      up-down counter
//	zkrecipes.cache.current          {cache}      up-down counter
//	zkrecipes.cache.entries          {entry}      up-down counter
//	zkrecipes.member.changes         {change}     counter: zkrecipes.change
//	zkrecipes.assignment.duration    s            histogram
//	zkrecipes.rebalance.duration     s            histogram: zkrecipes.result
//	zkrecipes.rebalance.moves        {resource}   counter
//	zkrecipes.rebalance.members      {member}     up-down counter
//	zkrecipes.rebalance.resources    {resource}   up-down counter
//	zkrecipes.task.changes           {change}     counter: zkrecipes.from, zkrecipes.to
//	zkrecipes.task.state.duration    s            histogram: zkrecipes.state
//	zkrecipes.session.clients        {client}     up-down counter: zkrecipes.status
//	zkrecipes.session.changes        {change}     counter: zkrecipes.status
//	zkrecipes.session.disconnected   s            gauge
//	zkrecipes.session.holds          {hold}       gauge
//	zkrecipes.session.watches        {watch}      gauge
//	zkrecipes.session.deletions      {deletion}   gauge
//	zkrecipes.session.trust_left     s            gauge
//	zkrecipes.session.trust_low      {event}      counter
//	zkrecipes.session.heartbeat      s            histogram: error.type
//	db.client.operation.duration     s            histogram: db.operation.name, db.system.name, error.type, zkrecipes.result
//
// zkrecipes.cache.running less zkrecipes.cache.current is the number of caches that are not
// current. zkrecipes.cache.entries has the entries of the running caches when each was loaded
// last, and zkrecipes.rebalance.members and zkrecipes.rebalance.resources are those of the last
// assignment of each group that this process coordinates. zkrecipes.session.trust_left is
// computed for each collection, from the last heartbeat or sample. zkrecipes.what is "counter"
// or "transaction"; calls that leave an outcome unresolved may also be of a "barrier", a "job"
// or "tasks".
//
// zkrecipes.result is that of the span for a wait; "ok", "failed" or "given_up" for a batch, a
// transaction and a rebalancing, and "declined" for a transaction or an update whose function
// has returned an error, and for a transaction that found a znode, or found none (see
// observe.TransactionEnded); and for a request "ok", "negative" (there is no such znode,
// and the like, which recipes expect), "refused", "unanswered" or "not_sent", of which the last
// three have an error.type.
//
// Metrics have no path unless [Options.PathAttribute] gives one, because each value of an
// attribute costs a series.
package otel
