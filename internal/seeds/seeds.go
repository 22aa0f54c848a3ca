// Package seeds reads from the environment which random histories the tests run.
package seeds

import (
	"fmt"
	"os"
	"strconv"
)

// The variables for choosing random histories.
const (
	CountVariable = "ZKTEST_SEEDS" // how many, at least
	OneVariable   = "ZKTEST_SEED"  // only the history of this seed
)

// Count returns how many random histories to run: n, or more if ZKTEST_SEEDS asks
// for more.
func Count(n int) int {
	if more, err := strconv.Atoi(os.Getenv(CountVariable)); err == nil {
		return max(n, more)
	}
	return n
}

// One reports whether ZKTEST_SEED asks for a single history.
func One() bool { return os.Getenv(OneVariable) != "" }

// List returns the seeds of the histories to run: 0 to n-1, or exactly the seed in
// ZKTEST_SEED, which need not be below n. A list without a seed is an error.
func List(n int) ([]uint64, error) {
	if only := os.Getenv(OneVariable); only != "" {
		seed, err := strconv.ParseUint(only, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: must be a number of at least 0, got %q", OneVariable, only)
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
