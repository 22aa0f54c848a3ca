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
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// noFault names the case without a fault.
const noFault = "no fault"

// RunObserved is Run, and compares the events of the tested client with those in
// testdata/observed/<file>.golden: without a fault with those of "no fault", and under a
// fault that ends neither the session nor the call with all of the file, whichever request
// the fault meets. Under the other faults the order of events may depend on which of two
// goroutines is first: the file has what was seen, and a sequence must be made of events
// that the file has, with the same end and class of error; the ledger checks that it adds
// up. So it is under every fault where no session is resumed. With update set, it adds what
// is new to the file.
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
	var usual, all, known []string // sequences, and the events in them
	for line := range strings.SplitSeq(strings.TrimSuffix(string(golden), "\n"), "\n") {
		fault, steps, _ := strings.Cut(line, ": ")
		all, known = append(all, steps), append(known, stepsOf(steps)...)
		if fault == noFault {
			usual = append(usual, steps)
		}
	}
	if slices.ContainsFunc(known, func(step string) bool { return strings.HasPrefix(step, "hold ended") }) {
		// A session may be lost before, during or after the giving back.
		known = append(known, "hold ended "+string(observe.Lost)+" (lost)", "hold ended "+string(observe.Unconfirmed)+" (lost)")
	}
	if !Has(SaysExpired) {
		known = append(known, "wait ended (lost)") // where the outcome cannot be found out
	}
	for _, line := range lines {
		fault, steps, _ := strings.Cut(line, ": ")
		switch {
		case fault == noFault:
			require.Contains(t, usual, steps)
		case !Has(Resumes):
			seen := slices.DeleteFunc(stepsOf(steps), endsWithSession)
			require.Subset(t, known, seen, "%s: %s", fault, steps)
		case endsSomething(matrix.Fault(fault)):
			require.Subset(t, known, stepsOf(steps), "%s: %s", fault, steps)
		default:
			require.Contains(t, all, steps, "%s", fault)
		}
	}
	require.NotEmpty(t, lines)
}

// endsWithSession reports whether an event is that of a lost session. Where no session is resumed,
// each fault may lose one.
func endsWithSession(step string) bool {
	return strings.HasSuffix(step, " (lost)") || step == "member changed died" || step == "task changed assigned>waiting"
}

// endsSomething reports whether a fault ends the session, or the call.
func endsSomething(f matrix.Fault) bool {
	switch f {
	case matrix.Expire, matrix.ExpireAfter, matrix.CancelContext, matrix.CancelLost, matrix.CancelUnknown, matrix.Outage, matrix.Freeze:
		return true
	}
	return false
}

// stepsOf are the events in a sequence, without numbers, each with its end and the class of
// its error.
func stepsOf(steps string) (out []string) {
	for step := range strings.SplitSeq(steps, ", ") {
		words := slices.DeleteFunc(strings.Fields(step), func(w string) bool { return strings.Trim(w, "0123456789") == "" })
		if len(words) > 0 {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
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
