package assignor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNamesAreSortedAndEachIsThereOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"", "q-", "a prefix that is longer than eight bytes, "}).Draw(t, "prefix")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("\x00ab\u00ff")), 0, 12, -1)
		var resources []Resource
		zone := map[string]string{}
		var want []string
		for range rapid.IntRange(1, 50).Draw(t, "resources") {
			r := Resource{Name: prefix + name.Draw(t, "name"), Zone: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "zone")}
			resources = append(resources, r)
			if z, ok := zone[r.Name]; !ok || r.Zone < z {
				zone[r.Name] = r.Zone
			}
			want = append(want, r.Name)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		names, place := sortedNames(resources)
		require.Equal(t, want, names)
		for j, name := range names {
			at := j
			if place != nil {
				at = int(place[j])
			}
			require.Equal(t, Resource{Name: name, Zone: zone[name]}, resources[at])
		}
	})
}

func TestAnIndexFindsWhatIsInIt(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000} {
		var names []string
		for j := range n {
			names = append(names, fmt.Sprint("name ", j))
		}
		x, grown := indexOf(names), newIndex(n)
		for j, name := range names {
			require.Equal(t, int32(j), x.find(name))
			number, fresh := grown.add(name)
			require.Equal(t, int32(j), number)
			require.True(t, fresh)
		}
		for j, name := range names {
			number, fresh := grown.add(name)
			require.Equal(t, int32(j), number)
			require.False(t, fresh)
		}
		others := []string{"", "name", "name 0 ", fmt.Sprint("name ", n)}
		for _, name := range others {
			require.Equal(t, int32(-1), x.find(name))
		}
		all := append(others, names...)
		numbers := make([]int32, len(all))
		x.findAll(all, numbers)
		for i, name := range all {
			require.Equal(t, x.find(name), numbers[i], name)
		}
	}
}

// Names whose hashes agree are distinguished by their texts.
func TestAnIndexTellsNamesWithTheSameHashApart(t *testing.T) {
	x := newIndex(4)
	x.names = []string{"other"}
	slot, tag, _ := x.findSlot("name")
	x.slots[slot] = tag | 1
	require.Equal(t, int32(-1), x.find("name"))
	number, fresh := x.add("name")
	require.True(t, fresh)
	require.Equal(t, int32(1), number)
	require.Equal(t, int32(1), x.find("name"))
}

// Most names in the slot of another name are distinguished without a comparison
// of strings: by the upper halves of the hashes.
func TestAnIndexComparesHashesBeforeNames(t *testing.T) {
	x := newIndex(1)
	tags := map[uint64]bool{}
	for j := range 100 {
		_, tag, _ := x.findSlot(fmt.Sprint("name ", j))
		require.Zero(t, uint32(tag), "the lower half is for the number")
		tags[tag] = true
	}
	require.Greater(t, len(tags), 95)
	slot, tag, _ := x.findSlot("name")
	x.names = []string{"name"}
	x.slots[slot] = tag ^ 1<<63 | 1
	require.Equal(t, int32(-1), x.find("name"), "a name of another hash is not compared")
}
