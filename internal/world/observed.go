package world

import (
	"fmt"
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
// testdata/observed/<file>.golden: under each fault, whichever request it meets, one of
// the sequences there, or one without a fault, since a fault may come too late. With update
// set, it writes the file.
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
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	known := strings.Split(strings.TrimSuffix(string(golden), "\n"), "\n")
	for _, line := range lines {
		_, steps, _ := strings.Cut(line, ": ")
		if !slices.Contains(known, noFault+": "+steps) {
			require.Contains(t, known, line)
		}
	}
	require.NotEmpty(t, lines)
}
