package counterformat

import "github.com/zkrecipes/zkrecipes/internal/znode"

// ValueBase ends the name of the mark that a value's writer has below the znode, as
// [WriterBase] does for numbers. The data of the znode is the bytes as they are, as those of
// Curator's SharedValue and DistributedAtomicValue.
const ValueBase = "value"

// IsValue recognizes the names of the marks of values' writers.
func IsValue(name string) bool {
	_, base, ok := znode.Protection(name)
	return ok && base == ValueBase
}
