package stm

import (
	"github.com/zkrecipes/zkrecipes/internal/format/stmformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// newMarkerPath returns a new path for a marker in dir.
func newMarkerPath(dir string) string { return dir + "/" + session.ProtectedName(stmformat.MarkerBase) }

// anyVersion is the version with the meaning "any version".
const anyVersion int32 = -1
