package history

import "maps"

// layer is what an earlier map lacks for a later one: new values, and nil for what has gone.
type layer[K comparable, V any] map[K]change[V]

// change is a value of a later map; nil if it has gone.
type change[V any] struct {
	value *V
	// fresh: the earlier map has none. A fresh value that goes leaves nothing behind: otherwise a
	// layer would grow by each contender that ever came.
	fresh bool
}

// layerOf is what an empty map lacks for a later one.
func layerOf[K comparable, V any](later map[K]*V) layer[K, V] {
	l := make(layer[K, V], len(later))
	for k, v := range later {
		l[k] = change[V]{v, true}
	}
	return l
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
