// Package matrix runs an operation under every fault at every request.
//
// # What it is
//
// A Case says how to prepare, what to do, and what must hold afterwards. Run
// first performs the operation without faults and counts its requests. Then,
// for each request and each fault, Run performs the operation once more with
// just that fault, each time with a new server in a new testing/synctest
// bubble, so that hours of waiting pass at once. Every run is bounded by a
// virtual deadline: an operation that hangs is a failure that names the request
// and the fault. docs/testing.md shows a case.
//
// # What it does not know
//
// The matrix knows nothing of the client library. A Case connects through
// Env.Dial, whose requests are counted and broken, and through Env.DialOther,
// whose requests are never broken, for clients that wait or check.
//
// # Concurrency
//
// Setup, Op and Check run one after the other in the bubble. Requests that
// appear at random times must not be counted, because they would shift the
// numbering; Counts selects the requests that count.
package matrix
