package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The settings of both servers.
const (
	tick = 200 * time.Millisecond
	// The interval of the search for empty containers.
	often, never = 300 * time.Millisecond, 24 * time.Hour
)

// seq are parents with counters near their end, one parent per case.
// read only
var seq = map[string]int32{"/seq-plain": 2147483645, "/seq-ephemeral": 2147483646, "/seq-multi": 2147483646, "/seq-other": 2147483640}

// startBoth starts both servers, alike. newer: Apache's is 3.9.3, or later.
func startBoth(t *testing.T, reap time.Duration) (ours, theirs string, newer bool) {
	t.Helper()
	counters := maps.Clone(seq)
	counters["/"] = int32(len(seq)) // here they are made with the server, there after its start
	real := apache.Require(t, &apache.Options{
		Own: true, TickTime: tick, MinSessionTimeout: 2 * tick, MaxSessionTimeout: 40 * time.Second,
		ContainerInterval: reap, Counters: counters,
	})
	newer = isNewer(t, real)
	s, err := zktest.Start(&zktest.Options{
		TickTime: tick, MinSessionTimeout: 2 * tick, MaxSessionTimeout: 40 * time.Second, ContainerInterval: reap,
		StatNeedsRead: newer,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for path, next := range seq {
		require.NoError(t, s.Create(path, nil))
		require.NoError(t, s.SetSequence(path, next))
	}
	return s.Addr(), real.Connect(), newer
}

// playBoth plays a case to both servers at once.
func playBoth(t *testing.T, ours, theirs, name string, play1 func(p *player)) (a, b []string) {
	t.Helper()
	var wg sync.WaitGroup
	// Waited for below; ends with the case, whose reads have a deadline.
	wg.Go(func() { a = playCase(t, ours, name, play1) })
	b = playCase(t, theirs, name, play1)
	wg.Wait()
	return a, b
}

// diffTranscripts is empty if two transcripts are equal; otherwise diffTranscripts shows
// the lines around the first different line.
func diffTranscripts(ours, theirs []string) string {
	if slices.Equal(ours, theirs) {
		return ""
	}
	i := 0
	for i < len(ours) && i < len(theirs) && ours[i] == theirs[i] {
		i++
	}
	var out strings.Builder
	for _, line := range ours[max(0, i-3):i] {
		fmt.Fprintf(&out, "     both: %q\n", line)
	}
	for _, side := range []struct {
		name  string
		lines []string
	}{{"in-process", ours}, {"Apache", theirs}} {
		for _, line := range side.lines[i:min(len(side.lines), i+4)] {
			fmt.Fprintf(&out, "%10s: %q\n", side.name, line)
		}
	}
	return out.String()
}

func allCases() []script {
	return slices.Concat(basicCases(), stateCases(), pathCases(), sequenceCases(), multiCases(), aclCases(),
		watchCases(), restoreCases(), sessionCases(), frameCases())
}

func TestServerAnswersAsApacheDoes(t *testing.T) {
	ours, theirs, newer := startBoth(t, never)
	cases := allCases()
	require.GreaterOrEqual(t, len(cases), 150)
	slices.SortFunc(cases, func(a, b script) int { return strings.Compare(a.name, b.name) })
	names := map[string]bool{}
	differing := 0
	for _, c := range cases {
		require.False(t, names[c.name], "two cases named %s", c.name)
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			a, b := playBoth(t, ours, theirs, c.name, c.play)
			require.NotEmpty(t, a)
			d := diffTranscripts(a, b)
			reason, known := knownReason(c.name, newer)
			switch {
			case d != "" && !known:
				t.Errorf("answers differ:\n%s", d)
			case d != "":
				differing++
				t.Logf("differs, as is known: %s\n%s", reason, d)
			case known:
				t.Errorf("no difference any more: take the case out of the list (%s)", reason)
			}
		})
	}
	for name := range known {
		require.True(t, names[name], "no case %s", name)
	}
	t.Logf("%d cases, %d known to differ", len(cases), differing)
}

func TestServerReapsAsApacheDoes(t *testing.T) {
	ours, theirs, _ := startBoth(t, often)
	for _, c := range reapingCases() {
		a, b := playBoth(t, ours, theirs, c.name, c.play)
		require.Empty(t, diffTranscripts(a, b), c.name)
	}
}

func TestComparisonSeesDifferences(t *testing.T) {
	require.Empty(t, diffTranscripts([]string{"a", "b"}, []string{"a", "b"}))
	for _, other := range [][]string{{"a"}, {"a", "b", "c"}, {"a", "x"}, {"b", "a"}, nil} {
		require.NotEmpty(t, diffTranscripts([]string{"a", "b"}, other))
	}
	// Two different scripts on one server must not look alike.
	s, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	run := func(flags int32, data bool) []string {
		return playCase(t, s.Addr(), "n", func(p *player) {
			c := p.join("a", 5000)
			c.exists(p.casePath("/x"), data)
			c.create(p.casePath("/x"), flags)
			c.exists(p.casePath("/x"), false)
		})
	}
	require.Equal(t, run(0, true), run(0, true))
	require.NotEqual(t, run(0, true), run(flagEphemeral, true), "owner")
	require.NotEqual(t, run(0, true), run(0, false), "event")
}
