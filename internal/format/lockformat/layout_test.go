package lockformat_test

import (
	"fmt"
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// FuzzPermitsOf: any name counts as one permit or more, and the number in our own
// names is read as it was written.
func FuzzPermitsOf(f *testing.F) {
	for _, name := range []string{
		"", "permit-", "-permit-0000000001", "_c_x-3-permit-0000000001", "x-0-permit-", "x--5-permit-", "x-+5-permit-", "x-007-permit-",
		"x-99999999999999999999-permit-1", "x-2-permit-3-permit-0000000001", "x-٣-permit-0000000001", "7000000000A-permit-",
	} {
		f.Add(name, 1)
	}
	number := regexp.MustCompile(`(?s)(?:^|^.*-)([1-9][0-9]*)-permit-`)
	f.Fuzz(func(t *testing.T, name string, n int) {
		got := lockformat.PermitsOf(name)
		if got < 1 || got > math.MaxInt32 {
			t.Fatalf("%q: %d", name, got)
		}
		if got > 1 && !number.MatchString(name) {
			t.Fatalf("%q: %d permits, written in another way than ours", name, got)
		}
		if n = n & math.MaxInt32; n > 0 {
			if got := lockformat.PermitsOf(lockformat.PermitName(n) + fmt.Sprintf("%010d", n)); got != n {
				t.Fatalf("%d permits are read as %d", n, got)
			}
		}
	})
}

func TestNumberOfPermitsIsWrittenInOneWay(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "12": 12, "2147483647": math.MaxInt32, "2147483648": 0, "99999999999999999999": 0,
		"": 0, "0": 0, "-1": 0, "+5": 0, "05": 0, " 5": 0, "5\n": 0, "x": 0,
	} {
		require.Equal(t, want, lockformat.ParsePermits([]byte(text)), "%q", text)
	}
}

// FuzzParseDelay: a note is written in one way, and everything else is refused.
func FuzzParseDelay(f *testing.F) {
	for _, note := range []string{"", "held 17", "free 17", "held  17", "held +17", "held 017", "held -1", "held", "freed 1", "held 99999999999999999999"} {
		f.Add([]byte(note))
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		held, token, ok := lockformat.ParseDelay(note)
		if ok {
			require.Equal(t, string(note), lockformat.DelayNote(held, token))
			require.Equal(t, held, lockformat.SaysHeld(note))
		}
	})
}

func TestEachRecipeKnowsItsWriters(t *testing.T) {
	writers := 0
	for _, marker := range lockformat.RWMarkers() {
		if lockformat.Writes(marker) {
			writers++
		}
	}
	require.Equal(t, 2, writers)
	require.NotContains(t, lockformat.MutexMarkers(), lockformat.CuratorLatch)
	require.Contains(t, lockformat.ElectionMarkers(), lockformat.KazooLock)
}
