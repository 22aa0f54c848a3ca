package history

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Layers, and the layers that are made of them, make the later maps of the earlier ones, and have
// nothing of what has come and gone in between.
func TestLayersMakeTheLaterMaps(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		now := map[int]*int{}
		var layers []layer[int, int]
		var states []map[int]*int // before each layer, and at the end
		for range 2 + r.IntN(6) {
			states = append(states, maps.Clone(now))
			l := layer[int, int]{}
			for range r.IntN(30) {
				key := r.IntN(8)
				if _, is := now[key]; is && r.IntN(2) == 0 {
					delete(now, key)
					l.put(key, nil, false)
					continue
				}
				value := r.Int()
				_, is := now[key]
				now[key] = &value
				l.put(key, &value, !is)
			}
			layers = append(layers, l)
		}
		states = append(states, maps.Clone(now))
		for len(layers) > 0 {
			for i, l := range layers {
				got := maps.Clone(states[i])
				l.applyTo(got)
				require.Equal(t, states[i+1], got, "seed %d", seed)
				for key, c := range l {
					_, was := states[i][key]
					require.Equal(t, was, !c.fresh)
					require.True(t, was || c.value != nil, "it has come and gone")
				}
			}
			if len(layers) == 1 {
				break
			}
			i := r.IntN(len(layers) - 1)
			layers[i] = layers[i+1].over(layers[i])
			layers = append(layers[:i+1], layers[i+2:]...)
			states = append(states[:i+1], states[i+2:]...)
		}
	}
}
