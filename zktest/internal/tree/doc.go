// Package tree is ZooKeeper's data tree as a deterministic state machine.
//
// Prepare checks a request against the tree and turns it into a Txn; Apply
// carries out a Txn, and never fails. The same sequence of Txns brings every
// Tree into the same state. The package has no clock, goroutine or I/O; time
// and zxid come with the Txn.
package tree
