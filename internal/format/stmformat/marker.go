// Package stmformat is the format of the znodes that package stm keeps while it works:
// the markers of transactions. The names are this library's alone; Curator and Kazoo
// have no such recipe. The package is pure; the dashboard recognizes markers by it.
package stmformat

import "github.com/zkrecipes/zkrecipes/internal/znode"

// MarkerBase ends the name of a marker, "<dir>/_c_<uuid>-marker": an empty ephemeral
// znode. Each transaction that writes sets the data of one marker as well, so that the
// marker's version tells later whether the transaction was applied.
const MarkerBase = "marker"

// IsMarker recognizes the names of markers.
func IsMarker(name string) bool {
	_, base, ok := znode.Protection(name)
	return ok && base == MarkerBase
}
