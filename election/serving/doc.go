// Package serving lets a server serve requests only while its process leads.
//
// # What it is
//
//	leader := serving.New(election.New(client, "/web/leader", nil), nil)
//	server := &http.Server{Handler: leader.Handler(mux), ReadHeaderTimeout: 5 * time.Second}
//	err := leader.Serve(ctx, server, listener)
//
// A [Leader] stands in an election. While it leads, it admits requests; otherwise it
// refuses them. [Leader.Handler] is the gate for net/http, and the module
// election/grpcserving for gRPC. [Leader.Admit] is the gate for everything else: messages of
// a queue, runs of a job. [Leader.Run] stands in the election and drains, and [Leader.Serve]
// runs a server with it.
//
// # While it does not lead
//
// With [Leader.Handler] alone the port is open on all instances, and an instance that does
// not lead answers 503 with Retry-After, and with the leader's address in the header
// [LeaderHeader] if [Options.Address] is set. Clients, proxies and probes can tell a standby
// from a crashed instance.
//
// With [Leader.Listener] in addition, the port is open on the leader only: connections to
// the others are refused. Use it where clients choose an instance by connecting. The
// handler is still necessary, because connections of a former leadership stay open.
//
// For Kubernetes, [Leader.Held] with health.Held makes a readiness probe that only the
// leader passes.
//
// # Guarantees
//
// "The work" is all code between the admission of a request and the return of its handler,
// and the functions Start and Stop of [Options].
//
//   - Work begins only while this process leads: a request is admitted, or refused before
//     its handler is called.
//   - At a graceful end, when the context of Run ends, no work of two leaders overlaps. Run
//     first admits no further request, then waits for the admitted requests, then calls
//     Stop, and only then gives the leadership back.
//   - A request that takes longer than [Options.DrainTimeout] after that has its context
//     ended, and Run waits for its handler. A handler that ignores its context keeps the
//     leadership: no other instance serves until it returns, or the process ends.
//   - At a loss, the contexts of all admitted requests end at once, before the servers can
//     let another candidate lead. Handlers that stop when their context ends do not overlap
//     with the next leader; the time that they take to stop may.
//   - Run calls Start again only after all work of the former leadership has returned.
//
// The following can overlap with the work of the next leader:
//
//   - a handler that goes on after the end of its context, after a loss;
//   - anything that the work has left behind: goroutines, requests to other services
//     without the request's context, hijacked connections, handlers that
//     http.TimeoutHandler has abandoned (put [Leader.Handler] inside it);
//   - the work of a process that was paused, until it runs again: its contexts are correct
//     as soon as it runs (call session.ContextErr before a step that must not follow a
//     loss);
//   - the response: a client may receive it after another instance has begun to lead.
//
// For these cases, fence the writes: the context of a request has the leadership
// ([FromContext]), with its token and guard, and with [Options.Issuer] also a fencing token
// (fence.FromContext), which the clients of fence/httpfence and fence/grpcfence send along.
//
// # How it is lost, and how you find out
//
// The context of an admitted request ends, and context.Cause says why: the cause wraps
// session.ErrLost and the reason, or [ErrDrainTimeout], or is that of the client that went
// away. Run campaigns again after a loss. [Leader.Observe] follows whether requests are
// admitted.
//
// # Znodes
//
// This package has no znodes of its own; see package election.
//
// # Failures
//
// Admit fails with [ErrNotLeading]. Run fails as [election.Elector.Run] does, with the error
// of Start or Stop, or with ErrDrainTimeout. Invalid arguments are an error of the first
// call, which wraps ErrInvalidArgument; a handler answers 500.
//
// # Compatibility
//
// The candidates of other libraries take part in the election; see package election.
//
// # Concurrency
//
// All methods may be called from any number of goroutines, except that one Run or Serve is
// in progress at a time. An admitted request costs no request to ZooKeeper.
package serving
