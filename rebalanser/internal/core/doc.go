// Package core has the decisions of a group: two state machines without I/O, clock or
// goroutine.
//
// A [Follower] is one client node's life as an owner: what to acquire, when to call
// the handlers, what to give back. A [Coordinator] is one election's: when to plan,
// what to write, what to wait for. Their methods take the reads and the finished
// actions, and return the actions to begin. docs/rebalanser.md describes the
// protocol; the tests explore its interleavings.
package core

// Mode is how a group makes sure that no resource has two owners.
type Mode int

const (
	// Resource: each resource has a barrier, which its owner holds.
	Resource Mode = iota
	// Global: whatever moves has been stopped everywhere before any of it is
	// started anywhere.
	Global
)
