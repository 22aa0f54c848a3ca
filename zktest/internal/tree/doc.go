// Package tree is ZooKeeper's data tree as a deterministic state machine.
//
// Prepare checks a request against the tree and turns it into a Txn; Apply
// carries a Txn out, which never fails. The same sequence of Txns brings every
// Tree into the same state. There is no clock, no goroutine and no I/O here;
// time and zxid come with the Txn.
package tree
