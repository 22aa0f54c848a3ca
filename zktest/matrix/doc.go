// Package matrix runs an operation under every fault at every request.
//
// # What it is
//
// A Case has a setup, an operation, and a check of the state afterwards. Run
// first performs the operation without faults and counts its requests. Then,
// for each request and each fault, Run performs the operation again with only
// this fault, each time with a new server in a new testing/synctest bubble, so
// hours of waiting pass at once. Every run is bounded by a virtual deadline: a
// hanging operation is a failure with the request and the fault.
// docs/testing.md shows a case.
//
// # Clients
//
// The matrix knows nothing of the client library. A Case connects through
// Env.Dial, whose requests are counted and broken, and through Env.DialOther,
// whose requests are never broken, for waiting and checking clients.
//
// # Concurrency
//
// Setup, Op and Check run one after the other in the bubble. Requests that
// appear at random times must not be counted, because they would shift the
// numbering; Counts selects the requests to count.
package matrix
