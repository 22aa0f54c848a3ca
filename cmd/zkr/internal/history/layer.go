package history

import (
	"maps"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// layer is what an earlier map lacks for a later one: new values, and nil for what has gone.
type layer[K comparable, V any] map[K]change[V]

// change is a value of a later map; nil if it has gone.
type change[V any] struct {
	value *V
	// fresh: the earlier map has none. A fresh value that goes leaves nothing behind: otherwise a
	// layer would grow by each contender that ever came.
	fresh bool
}

// put notes the value of a key; nil if it has gone. fresh: there was none just before.
func (l layer[K, V]) put(key K, value *V, fresh bool) {
	if before, is := l[key]; is {
		fresh = before.fresh
	}
	if value == nil && fresh {
		delete(l, key)
		return
	}
	l[key] = change[V]{value, fresh}
}

// over is a layer that does what l does after the layer below.
func (l layer[K, V]) over(below layer[K, V]) layer[K, V] {
	out := make(layer[K, V], max(len(l), len(below)))
	maps.Copy(out, below)
	for k, c := range l {
		out.put(k, c.value, c.fresh)
	}
	return out
}

// applyTo changes a map.
func (l layer[K, V]) applyTo(m map[K]*V) {
	for k, c := range l {
		if c.value == nil {
			delete(m, k)
		} else {
			m[k] = c.value
		}
	}
}

// The memory of an entry of a layer, of a znode beside its path and data, and of a stay: about
// twice of what the fields take.
const (
	entrySize = 100
	nodeSize  = 400
	staySize  = 700
)

// sizeOfNode is the memory of a znode in a layer. Recognition keeps records decoded.
func sizeOfNode(path string, n *recognize.Node) int64 {
	if n == nil {
		return int64(entrySize + len(path))
	}
	return int64(entrySize + nodeSize + len(path) + 3*len(n.Data))
}

// sizeOfStay is the memory of a stay in a layer; its names are those of znodes.
func sizeOfStay(_ place, s *Stay) int64 {
	if s == nil {
		return entrySize
	}
	return entrySize + staySize
}

// size is the memory of a layer.
func (l layer[K, V]) size(of func(K, *V) int64) (sum int64) {
	for k, c := range l {
		sum += of(k, c.value)
	}
	return sum
}
