// Package observe has the events by which an application sees what its locks,
// elections, caches and sessions do: for metrics, traces and logs.
//
// An [Observer] is given once, to the client (session.Options.Observer), and every recipe
// of the client reports to it. [Log] is an Observer that writes to a log; the modules
// observe/otel and observe/prom have Observers for OpenTelemetry and Prometheus.
//
// # Events
//
// Events come in families:
//
//   - A wait begins with [WaitBegun] and ends with exactly one [WaitEnded]. In between,
//     each [WaitQueued] has its place in the queue. All have the same Wait.ID.
//   - A hold begins with [HoldBegun] and ends with exactly one [HoldEnded]: it was
//     released, handed over to another goroutine of the process, or lost. Both have the
//     same Hold.ID. Hold.Wait is the ID of the wait that it came from.
//   - A cache begins to run with [CacheBegun] and ends with [CacheEnded]; in between, it
//     becomes current, and ceases to be.
//   - The changes of a task chain: each begins in the state in which another, perhaps that of
//     another client, has ended.
//   - Everything else is a single event: a batch of a counter or value, a round of a barrier,
//     a call that leaves an outcome unknown, a state of the session.
//
// Waits and holds that begin also end: the holds of a client that is closed are lost.
//
// The events of one wait or hold come in their order. Those of two holds may not: in a
// hand-over within the process, the goroutine that gets a lock may report its HoldBegun
// before the goroutine that has handed the lock over reports its HoldEnded. Hold.Begun, and
// the sum of Begun and HoldEnded.Took, are in order. A count of what is held is then one
// too many for a moment.
//
// # Calls
//
// The library calls an Observer on the goroutine that does the work, and holds no mutex
// of its own meanwhile. The caller of Lock, for example, waits for the Observer, and an
// Observer may call the client. Events of the session, and losses, are reported by
// goroutines of their own. An Observer must therefore be safe for concurrent use. Close
// waits until the events of the session have been received: an Observer must not wait for
// Close while it receives one.
//
// Without an Observer the events are not made: they cost one comparison with nil.
package observe
