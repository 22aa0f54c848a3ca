package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func TestKidsAreTheNamesThatWereAddedAndNotRemoved(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var k kids
	twin := map[string]bool{}
	for range 5000 {
		name := fmt.Sprint("n", rnd.IntN(40))
		if rnd.IntN(2) == 0 {
			k.add(name)
			twin[name] = true
		} else {
			k.remove(name)
			delete(twin, name)
		}
		require.Len(t, k.names, len(twin))
		require.Len(t, k.at, len(twin))
		for i, name := range k.names {
			require.True(t, twin[name])
			require.Equal(t, i, k.at[name])
		}
		c := k.clone()
		require.Equal(t, k.names, c.names)
		c.add("other")
		c.remove("n1")
		require.Equal(t, twin["n1"], slices.Contains(k.names, "n1"), "a clone is independent")
	}
}

func TestListsOfChildrenAreNotSortedAndCostNothing(t *testing.T) {
	tr := New()
	var age []string
	for i := range 1000 {
		name := fmt.Sprintf("n%04d", i)
		age = append(age, name)
		tr.Apply(&Txn{Zxid: int64(i + 1), Changes: []Change{{Op: proto.OpCreate, Path: "/" + name, Creates: -1}}})
	}
	root := tr.Get("/")
	got := tr.Children(root)
	require.Equal(t, got, tr.Clone().Children(tr.Clone().Get("/")), "replicas agree")
	got = slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s == "zookeeper" })
	require.ElementsMatch(t, age, got)
	moved := 0
	for i := range got {
		if got[i] != age[i] {
			moved++
		}
	}
	require.Greater(t, moved, 900, "neither the order of names nor of age")
	require.Zero(t, testing.AllocsPerRun(10, func() { tr.Children(root) }), "a list is not made again for every reader")
}
