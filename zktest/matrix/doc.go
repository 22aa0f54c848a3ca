// Package matrix runs an operation under every fault at every request.
//
// # What it is
//
// A Case says how to prepare, what to do, and what must hold afterwards. Run
// performs the operation once without faults and counts its requests; then,
// for each request and each fault, once more with just that fault, each time
// with a new server in a new testing/synctest bubble, so that hours of waiting
// pass at once. Every run is bounded by a virtual deadline: an operation that
// hangs is a failure that names the request and the fault. docs/testing.md shows
// one.
//
// # What it does not know
//
// The client library. A Case connects as it likes through Env.Dial (its
// requests are counted and broken) and Env.DialOther (never broken; for those
// who wait and those who check).
//
// # Concurrency
//
// Setup, Op and Check run one after the other in the bubble. Requests that
// appear at random times must not be counted, or the numbering shifts; Counts
// says which ones count.
package matrix
