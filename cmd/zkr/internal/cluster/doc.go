// Package cluster is the cluster of "zkr demo cluster": nodes that elect a leader
// and register as coordinator or worker, and the page that shows them and may
// disturb them.
//
// # Nodes
//
// A [Node] lives in one ZooKeeper session at a time. It takes a place in the
// election, registers as a worker, and when its turn comes it moves to the
// coordinators in one transaction and leads, until it resigns or its session's
// trust ends, which is before the servers can let another one lead. A lost
// session is the end of a life: nothing of it is made again, and the next life
// begins as the program did, last in the order.
//
// A node answers GET /status with its own state. The leader answers GET
// /cluster/status for all nodes, by asking the workers concurrently; a node that
// does not lead refuses.
//
// # The page
//
// A [Monitor] finds the leader through ZooKeeper, asks it and nobody else what
// the cluster looks like, and keeps the history of who led when: how long each
// failover took, from what caused it until the next one served. A [Crew] is the
// processes on this machine, which can be killed, frozen, cut off from ZooKeeper
// and started again. A [Site] shows both, and takes orders from clients that have
// the token.
package cluster
