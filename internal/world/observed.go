package world

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// noFault names the case without a fault.
const noFault = "no fault"

// RunObserved is Run, and compares the events of the tested client with those in
// testdata/observed/<file>.golden. Without a fault they are those of "no fault" there. Under
// a fault, whichever request it meets, they are one of the sequences there: the file lists
// them by fault, but which of them a fault leads to may depend on which of two goroutines is
// first. With update set, it adds what is new to the file.
func (tr Trial) RunObserved(t *testing.T, update bool, file string) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{} // "fault: steps"
	tr.seen = func(fault matrix.Fault, steps string) {
		mu.Lock()
		defer mu.Unlock()
		if fault == "" {
			fault = noFault
		}
		seen[fmt.Sprintf("%s: %s", fault, steps)] = true
	}
	tr.Run(t)
	lines := slices.Sorted(maps.Keys(seen))
	path := filepath.Join("testdata", "observed", file+".golden")
	if update {
		require.NoError(t, addLines(path, lines))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	var usual, all []string // sequences
	for line := range strings.SplitSeq(strings.TrimSuffix(string(golden), "\n"), "\n") {
		fault, steps, _ := strings.Cut(line, ": ")
		if all = append(all, steps); fault == noFault {
			usual = append(usual, steps)
		}
	}
	for _, line := range lines {
		fault, steps, _ := strings.Cut(line, ": ")
		known := all
		if fault == noFault {
			known = usual
		}
		require.Contains(t, known, steps, "%s", fault)
	}
	require.NotEmpty(t, lines)
}

// addLines adds lines to a file, which is sorted, and made if it is missing.
func addLines(path string, lines []string) error {
	known, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(known) > 0 {
		lines = append(lines, strings.Split(strings.TrimSuffix(string(known), "\n"), "\n")...)
	}
	slices.Sort(lines)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(slices.Compact(lines), "\n")+"\n"), 0o644)
}
