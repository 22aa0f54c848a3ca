// Package keeping keeps a znode in existence over lost sessions, deletions and outages. It
// is the mechanism of packages discovery and node.
//
// A [Registrant] has one goroutine, which alone talks to the servers. Its callers state
// the [Entry] that they want registered, and wait until it is. The goroutine compares the
// wanted entry with the present znode, and takes the steps between them (plan.go): it
// finds out the outcome of writes without a reply (create.go, alter.go, move.go), replaces the
// znode that a lost session has left (former.go), and watches its own znode (ownwatch.go).
package keeping
