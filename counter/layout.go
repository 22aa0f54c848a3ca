package counter

import "github.com/zkrecipes/zkrecipes/session"

// newMarker is a path for a marker, with base in its name, of the counter at path.
func newMarker(path, base string) string { return path + "/" + session.ProtectedName(base) }

// anyVersion means "any version" to ZooKeeper. It is also the version of a node
// after 2^32-1 changes: then no condition on the version is possible.
const anyVersion int32 = -1
