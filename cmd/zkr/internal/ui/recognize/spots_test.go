package recognize

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// requireSpots compares spots with those of a map, in all ways of looking at them.
func requireSpots(t *testing.T, want map[string]*spot, got spots) {
	t.Helper()
	names := slices.Sorted(maps.Keys(want))
	require.Equal(t, len(names), got.size())
	var seen []string
	for s := range got.all() {
		require.Same(t, want[s.name], s)
		seen = append(seen, s.name)
	}
	require.Equal(t, names, seen)
	for i := range 20 {
		name := fmt.Sprint(i * 97 % 2000)
		require.Equal(t, want[name], got.find(name), name)
		at, _ := slices.BinarySearch(names, name)
		rest := 0
		for s := range got.from(name) {
			require.Equal(t, names[at+rest], s.name)
			if rest++; rest == 3 {
				break
			}
		}
		require.Equal(t, min(3, len(names)-at), rest)
	}
	if m := got.many; m != nil {
		require.Greater(t, m.size, fewSpots/2)
		for i, p := range m.parts {
			require.NotEmpty(t, *p)
			require.LessOrEqual(t, len(*p), 2*partSpots)
			if i > 0 {
				require.GreaterOrEqual(t, len(*p)+len(*m.parts[i-1]), partSpots/2, "they would have been joined")
			}
		}
	} else {
		require.LessOrEqual(t, got.size(), fewSpots)
	}
}

// TestSpotsAreAsInAMap, and an older list stays as it was.
func TestSpotsAreAsInAMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var now, old spots
		want, former := map[string]*spot{}, map[string]*spot{}
		for step := range 150 {
			if step%10 == 0 {
				old, former = now, maps.Clone(want)
			}
			grows := step/40%2 == 0
			changes := map[string]*spot{}
			for range 1 + r.IntN(100)*r.IntN(2) {
				name := fmt.Sprint(r.IntN(2000))
				if s := (&spot{name: name}); r.IntN(4) > 0 == grows {
					changes[name], want[name] = s, s
				} else {
					changes[name] = nil
					delete(want, name)
				}
			}
			var sorted []placed
			for _, name := range slices.Sorted(maps.Keys(changes)) {
				sorted = append(sorted, placed{name, changes[name]})
			}
			now = now.with(sorted...)
			requireSpots(t, want, now)
			requireSpots(t, former, old)
		}
		copies := now.each(func(s *spot) *spot { return &spot{name: s.name, gen: 7} })
		require.Equal(t, now.size(), copies.size())
		require.False(t, copies.contains(func(s *spot) bool { return s.gen != 7 || want[s.name] == nil }))
	}
}

// TestFewOfManySpotsAreJoined, in whatever order the others go.
func TestFewOfManySpotsAreJoined(t *testing.T) {
	for name, backward := range map[string]bool{"from the first to the last": false, "from the last to the first": true} {
		t.Run(name, func(t *testing.T) {
			var now spots
			want := map[string]*spot{}
			var others []string
			for i := range 5000 {
				s := &spot{name: fmt.Sprintf("%04d", i)}
				now = now.with(placed{s.name, s})
				if i%100 == 0 {
					want[s.name] = s
				} else {
					others = append(others, s.name)
				}
			}
			if backward {
				slices.Reverse(others)
			}
			for len(others) > 1000 {
				now = now.with(placed{others[0], nil})
				others = others[1:]
			}
			for _, name := range others {
				want[name] = now.find(name)
			}
			requireSpots(t, want, now)
		})
	}
}

// TestChangesOfThingsCostTheSameInLargeWorlds: an update allocates not much more beside 200
// times as many locks, whether a contender or a lock comes or goes, also if their folder has data.
func TestChangesOfThingsCostTheSameInLargeWorlds(t *testing.T) {
	perUpdate := func(locks int) uint64 {
		r := Recognizer{OnlyThings: true}
		first := map[string]*Node{}
		put := func(in map[string]*Node, path string, owner int64) {
			in[path] = NewNode(path, nil, session.Stat{Czxid: int64(len(first)) + 1, EphemeralOwner: owner})
		}
		first["/locks"] = NewNode("/locks", []byte(`{"owner":"team"}`), session.Stat{Czxid: 1})
		for i := range locks {
			path := fmt.Sprintf("/locks/resource-%d", i)
			put(first, path, 0)
			put(first, path+"/lock-0000000001", 5)
			put(first, path+"/lock-0000000002", 6)
		}
		require.Len(t, r.Update(first, Past{}, noon).Come, locks)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const rounds = 50
		for i := range rounds {
			path := fmt.Sprintf("/locks/resource-%d", i*7%locks)
			require.Len(t, r.Update(map[string]*Node{path + "/lock-0000000001": nil}, Past{}, noon).Come, 1)
			more := map[string]*Node{}
			put(more, path+"/lock-0000000003", 7)
			require.Len(t, r.Update(more, Past{}, noon).Come, 1)
			for name := range more {
				more[name] = nil
			}
			require.Len(t, r.Update(more, Past{}, noon).Come, 1)
			put(more, "/locks/resource-x", 0)
			require.Empty(t, r.Update(more, Past{}, noon).Come)
			require.Empty(t, r.Update(map[string]*Node{"/locks/resource-x": nil}, Past{}, noon).Come)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	few, many := perUpdate(100), perUpdate(20_000)
	t.Logf("%d and %d bytes", few, many)
	require.Less(t, many, 4*few)
}
