package value

import "github.com/zkrecipes/zkrecipes/internal/format/counterformat"

// markerBase ends the names of markers, which this library alone writes and reads; Curator
// reads only the data of the value's znode.
const markerBase = counterformat.ValueBase
