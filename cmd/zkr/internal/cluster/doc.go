// Package cluster is the cluster of "zkr demo cluster": nodes with an elected
// leader, registered as coordinator or worker, and a page for watching and
// disturbing the nodes.
//
// # Nodes
//
// A [Node] lives in one ZooKeeper session at a time. The node takes a place in
// the election and registers as a worker. When its turn comes, the node moves
// to the coordinators in one transaction and leads, until it resigns or its
// session's trust ends. Trust ends before the servers can let another node
// lead. A lost session is the end of a life: no znode of the life is created
// again, and the next life begins from scratch, last in the order.
//
// A node answers GET /status with its own state. The leader answers GET
// /cluster/status for all nodes, after asking the workers concurrently; other
// nodes refuse.
//
// # The page
//
// A [Monitor] finds the leader through ZooKeeper, asks only the leader for the
// state of the cluster, and keeps the history of leaderships: the duration of
// each failover, from its cause until the next leader served. A [Crew] is the
// set of processes on this machine, which can be killed, frozen, cut off from
// ZooKeeper and started again. A [Site] shows both, and takes orders from
// clients with the token.
package cluster
