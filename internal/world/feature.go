package world

import (
	"slices"
	"testing"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// Feature is something of Apache's servers that another product lacks.
type Feature string

// The features that tests need.
const (
	// Resumes: a session goes on with the client's next connection. A test needs it if a
	// connection is lost, and what the session holds, or the outcome of the request that was in
	// flight, must outlive that.
	Resumes Feature = "sessions that go on with the next connection"
	// ResumesInElections: a server without a leader answers no handshake of a session that
	// exists as one of a session that has expired.
	ResumesInElections Feature = "sessions that survive a reconnection while there is no leader"
	// SaysExpired: the handshake of an expired session, and of no other, is answered with its
	// expiry. A test needs it if the error, or what a client dares to conclude, depends on that.
	SaysExpired Feature = "an answer that says that a session has expired"
	// Containers: the server deletes the empty folders of recipes.
	Containers Feature = "containers"
	// TTLNodes: the server deletes znodes some time after their last change.
	TTLNodes Feature = "TTL nodes"
	// CreationsWithStat: a creation is one request. A test needs it if it counts, or times,
	// requests in a way for which [Requests] and [RoundTripsOfCreation] are not enough.
	CreationsWithStat Feature = "creations whose replies have the stat (create2)"
	// Subscriptions: one watch reports all changes below its path, as often as they happen. A
	// test needs it if it counts the requests of views, or is about such a watch itself.
	Subscriptions Feature = "recursive watches (addWatch)"
	// RemovesWatches: a client removes the watches that it has stopped. A test needs it if it
	// is about nothing but that; others use [World.RequireNoWatches].
	RemovesWatches Feature = "requests that remove watches"
	// ReadOnlyServers: a server without a quorum serves reads.
	ReadOnlyServers Feature = "servers that serve reads without a quorum"
	// PublicStats: a client sees the stat of a znode that it may not read.
	PublicStats Feature = "stats of znodes that the client may not read"
)

// features are all features.
// read only
var features = []Feature{
	Resumes, ResumesInElections, SaysExpired, Containers, TTLNodes, CreationsWithStat, Subscriptions, RemovesWatches, ReadOnlyServers, PublicStats,
}

// missing are the features that products lack.
// read only
var missing = map[zktest.Product][]Feature{
	zktest.ClickHouseKeeper: features,
	zktest.RaftKeeper:       {ResumesInElections, SaysExpired, Containers, TTLNodes, CreationsWithStat, Subscriptions, RemovesWatches, ReadOnlyServers},
}

// Has reports whether the product that the tests are run for has f.
func Has(f Feature) bool { return !slices.Contains(missing[product()], f) }

// Needs skips the test if the product that the tests are run for lacks one of the features.
// scripts/test-keepers.sh lists the tests that are left out.
func Needs(t testing.TB, needed ...Feature) {
	t.Helper()
	for _, f := range needed {
		if !Has(f) {
			t.Skipf("%s lacks %s", product(), f)
		}
	}
}

// Requests are the requests that the product that the tests are run for needs in place of the
// requests of Apache's, by name.
func Requests(apaches map[string]int) map[string]int {
	if !OnKeeper() {
		return apaches
	}
	out := map[string]int{}
	for op, n := range apaches {
		switch op {
		case "create2": // and the stat is read behind it
			out["create"] += n
			out["exists"] += n
		case "createContainer":
			out["create"] += n
		case "removeWatches":
		default:
			out[op] += n
		}
	}
	return out
}

// RoundTripsOfCreation is the number of round trips that the creation of a znode costs.
func RoundTripsOfCreation() int {
	if Has(CreationsWithStat) {
		return 1
	}
	return 2
}
