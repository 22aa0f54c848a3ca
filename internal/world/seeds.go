package world

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/seeds"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Seeds returns how many random histories to run: n, or more if ZKTEST_SEEDS asks for
// more. With -short, for the race detector, they are a tenth, but at least two: another
// history makes other faults, and hardly other accesses to memory.
func Seeds(n int) int {
	if testing.Short() {
		n = max(n/10, min(n, 2))
	}
	return seeds.Count(n)
}

// Thorough reports whether ZKTEST_SEEDS asks for more than a usual run: for all cases.
func Thorough() bool { return Seeds(1) > 1 }

// OneSeed reports whether ZKTEST_SEED asks for a single history.
func OneSeed() bool { return seeds.One() }

// SeedList returns the seeds of the histories to run: 0 to n-1, or exactly the
// seed in ZKTEST_SEED, which need not be below n. A list without a seed fails
// t.
func SeedList(t testing.TB, n int) []uint64 {
	t.Helper()
	list, err := seeds.List(n)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// RunSeeds runs the histories of SeedList(t, n), each in a bubble of its own with the
// given number of servers, on two processors. It fails t if no history ran to its end.
func RunSeeds(t *testing.T, n, servers int, history func(w *World, seed uint64) error) {
	t.Helper()
	list := SeedList(t, n)
	var ran atomic.Int64
	t.Cleanup(func() { // after both parts
		if ran.Load() == 0 && !t.Failed() && !t.Skipped() {
			t.Error("no history ran")
		}
	})
	for part := range min(2, len(list)) {
		t.Run(fmt.Sprintf("part%d", part), func(t *testing.T) {
			t.Parallel()
			began, count := time.Now(), 0
			for i := part; i < len(list); i += 2 {
				seed := list[i]
				In(t, &zktest.Options{Servers: servers}, func(w *World) {
					if err := history(w, seed); err != nil {
						w.Errorf("seed %d, %d servers: %v", seed, servers, err)
					}
				})
				if t.Failed() {
					return
				}
				count++
				ran.Add(1)
			}
			t.Logf("%d histories in %v", count, time.Since(began).Round(time.Millisecond))
		})
	}
}
