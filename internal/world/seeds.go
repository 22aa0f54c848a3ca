package world

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// Seeds is how many random histories to try: n, or more if ZKTEST_SEEDS asks
// for more.
func Seeds(n int) int {
	if more, err := strconv.Atoi(os.Getenv("ZKTEST_SEEDS")); err == nil {
		return max(n, more)
	}
	return n
}

// RunSeeds runs n random histories, each in a bubble of its own with so many
// servers, on two processors. ZKTEST_SEED runs one of them alone.
func RunSeeds(t *testing.T, n, servers int, history func(w *World, seed uint64) error) {
	t.Helper()
	for part := range 2 {
		t.Run(fmt.Sprintf("part%d", part), func(t *testing.T) {
			t.Parallel()
			began, count := time.Now(), 0
			for seed := part; seed < n; seed += 2 {
				if only := os.Getenv("ZKTEST_SEED"); only != "" && only != strconv.Itoa(seed) {
					continue
				}
				In(t, &zktest.Options{Servers: servers}, func(w *World) {
					if err := history(w, uint64(seed)); err != nil {
						w.Errorf("seed %d, %d servers: %v", seed, servers, err)
					}
				})
				if t.Failed() {
					return
				}
				count++
			}
			t.Logf("%d histories in %v", count, time.Since(began).Round(time.Millisecond))
		})
	}
}
