package counter

import "github.com/zkrecipes/zkrecipes/session"

// markerBase ends the name of a writer's marker, "<path>/_c_<uuid>-writer":
// an ephemeral child of the counter, empty, one for each [Counter], [Shared] or
// [Sequence] that has written in its present session. Ours alone; Curator and
// Kazoo look at the counter's data only, and never list its children.
//
// It stands below the counter and not beside it, since only there it proves
// that the counter is the same node still: a node that has children cannot be
// deleted.
const markerBase = "writer"

// newMarker is a path for a marker of the counter at path.
func newMarker(path string) string { return path + "/" + session.ProtectedName(markerBase) }

// Sizes of the binary formats.
const (
	// longSize: Curator's DistributedAtomicLong, a big-endian two's complement.
	longSize = 8
	// intSize: Curator's DistributedAtomicInteger and SharedCount, and Kazoo's
	// Counter with support_curator=True, a big-endian two's complement.
	intSize = 4
)

// anyVersion is what ZooKeeper takes for "whatever the version is". It is also
// the version of a node after 2^32-1 changes: then no condition can be put on
// it.
const anyVersion int32 = -1
