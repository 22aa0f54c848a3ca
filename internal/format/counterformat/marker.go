// Package counterformat is the format of shared numbers and bytes: the znodes that packages
// counter and value write (docs/layout.md). The package is pure; the dashboard recognizes
// counters and values by it.
package counterformat

import "github.com/zkrecipes/zkrecipes/internal/znode"

// WriterBase ends the name of a writer's marker, "<path>/_c_<uuid>-writer": an ephemeral
// child of the counter, empty, one for each counter that has written in its present
// session. The name is this library's alone; Curator and Kazoo look at the counter's data
// only, and never list its children.
//
// The marker stands below the counter and not beside it, since only there it proves that
// the counter is the same znode still: a znode that has children cannot be deleted.
const WriterBase = "writer"

// IsWriter recognizes the names of writers' markers.
func IsWriter(name string) bool {
	_, base, ok := znode.Protection(name)
	return ok && base == WriterBase
}
