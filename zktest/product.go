package zktest

import "github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"

// Product is a server that speaks ZooKeeper's protocol.
type Product string

// The products that a Server imitates. The differences to Apache's ZooKeeper are from the
// source of the products and the reports of their users; no test has compared this imitation
// with a real server.
const (
	// Apache is ZooKeeper 3.8.
	Apache Product = "zookeeper"
	// ClickHouseKeeper resumes no session: whatever session the handshake asks for, it makes
	// a new one, and the former expires (ClickHouse #116690). It has no containers, TTL nodes
	// and create2 (#108908, #90741), and closes the connection on a request that it does not
	// know. Events of recursive watches have the path of the watch (#115475). A part of a
	// multiRead that fails has no body (#58747). Reads are no sign of life (#111102), and
	// exists needs the permission to read.
	ClickHouseKeeper Product = "clickhouse-keeper"
	// RaftKeeper resumes sessions; without a leader, it says that they have expired. It
	// refuses containers, and leaves create2, createTTL and the requests since
	// ZooKeeper 3.6 but multiRead without an answer (RaftKeeper #400).
	RaftKeeper Product = "raftkeeper"
)

func (p Product) imitated() ensemble.Product {
	switch p {
	case ClickHouseKeeper:
		return ensemble.ClickHouseKeeper
	case RaftKeeper:
		return ensemble.RaftKeeper
	}
	return ensemble.Apache
}
