package stm

import (
	"github.com/zkrecipes/zkrecipes/internal/format/stmformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// newMarkerPath returns a new path for a marker in dir.
func newMarkerPath(dir string) string { return dir + "/" + session.ProtectedName(stmformat.MarkerBase) }

// anyVersion is the version that ZooKeeper takes for "any version".
const anyVersion int32 = -1
