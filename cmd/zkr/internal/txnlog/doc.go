// Package txnlog reads ZooKeeper transaction logs and snapshots.
package txnlog
