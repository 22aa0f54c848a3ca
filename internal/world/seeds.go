package world

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// The variables for choosing random histories.
const (
	seedsVariable = "ZKTEST_SEEDS" // how many, at least
	seedVariable  = "ZKTEST_SEED"  // only the history of this seed
)

// Seeds returns how many random histories to run: n, or more if ZKTEST_SEEDS asks
// for more.
func Seeds(n int) int {
	if more, err := strconv.Atoi(os.Getenv(seedsVariable)); err == nil {
		return max(n, more)
	}
	return n
}

// OneSeed reports whether ZKTEST_SEED asks for a single history.
func OneSeed() bool { return os.Getenv(seedVariable) != "" }

// SeedList returns the seeds of the histories to run: 0 to n-1, or exactly the
// seed in ZKTEST_SEED, which need not be below n. A list without a seed fails
// t.
func SeedList(t testing.TB, n int) []uint64 {
	t.Helper()
	list, err := seedList(n, os.Getenv(seedVariable))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func seedList(n int, only string) ([]uint64, error) {
	if only != "" {
		seed, err := strconv.ParseUint(only, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: must be a number of at least 0, got %q", seedVariable, only)
		}
		return []uint64{seed}, nil
	}
	if n < 1 {
		return nil, fmt.Errorf("no history to run: their number must be at least 1, got %d", n)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i)
	}
	return list, nil
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
