package election

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The order of candidates is a pure function of names. Its twin knows nothing of
// parsing: it makes the names and remembers their meaning.

// aName draws a child's name, and its number, or -1 for a stranger.
func aName(t *rapid.T) (string, int64) {
	seq := rapid.OneOf(
		rapid.Int64Range(0, 50), rapid.Int64Range(2147483640, 2147483647), rapid.Int64Range(-2147483648, -1),
	).Draw(t, "seq")
	prefix := rapid.SampledFrom([]string{
		"_c_0f-latch-", "_c_a0-lock-", "ff__lock__", "latch-", "_c_zz-latch-", // candidates
		"n_", "_c_1-lease-", "latch_", "", "x", // strangers
	}).Draw(t, "prefix")
	suffix := rapid.SampledFrom([]string{"", "", "", "", "x"}).Draw(t, "suffix")
	name := prefix + fmt.Sprintf("%010d", seq) + suffix
	candidate := suffix == "" && (strings.HasSuffix(prefix, "latch-") || strings.HasSuffix(prefix, "lock-") || strings.HasSuffix(prefix, "__lock__"))
	if !candidate || seq < 0 || seq == 2147483647 {
		return name, -1
	}
	return name, seq
}

func TestQueueIsTheCandidatesByTheirNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var children []string
		numbers := map[string]int64{}
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			name, seq := aName(t)
			if _, doubled := numbers[name]; doubled {
				continue
			}
			children = append(children, name)
			numbers[name] = seq
		}
		got := parseQueue(children)

		var want []string
		for name, seq := range numbers {
			if seq >= 0 {
				want = append(want, name)
			}
		}
		for i := range want { // the dumbest sort there is
			for j := range want[:i] {
				a, b := numbers[want[j]], numbers[want[i]]
				if a > b || a == b && want[j] > want[i] {
					want[i], want[j] = want[j], want[i]
				}
			}
		}
		require.Len(t, got, len(want))
		for i, c := range got {
			require.Equal(t, want[i], c.Name)
			require.EqualValues(t, numbers[c.Name], c.Seq)
			require.Equal(t, c.Term, int64(c.Seq))
			require.Equal(t, i == 0, c.Leads)
			if i == 0 {
				require.Empty(t, c.Watches)
			} else {
				require.Equal(t, want[i-1], c.Watches)
			}
		}
	})
}

// Whichever candidate leaves a queue, the chain closes up, and only the candidate
// behind is affected (R13, R14, D5).
func TestQueueClosesUpAroundACandidateThatLeaves_R14_D5(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		var children []string
		for i := range n {
			children = append(children, "_c_x-latch-"+fmt.Sprintf("%010d", i))
		}
		before := parseQueue(rapid.Permutation(children).Draw(t, "order"))
		gone := rapid.IntRange(0, n-1).Draw(t, "gone")
		after := parseQueue(slices.Delete(slices.Clone(children), gone, gone+1))
		linked := linkPredecessors(slices.Delete(slices.Clone(before), gone, gone+1))
		require.Equal(t, after, linked)
		changed := 0
		for _, c := range after {
			if i := slices.IndexFunc(before, func(b Candidate) bool { return b.Name == c.Name }); before[i].Watches != c.Watches || before[i].Leads != c.Leads {
				changed++
			}
		}
		require.Equal(t, min(1, n-1-gone), changed)
	})
}

// FuzzQueue: whatever names a path has, the queue is well formed, and strangers
// stay out.
func FuzzQueue(f *testing.F) {
	f.Add("_c_x-latch-0000000001 _c_y-lock-0000000000 f__lock__0000000002 config")
	f.Add("_c_x-latch--2147483648 _c_x-latch-2147483647 latch--999999999")
	f.Add("latch-0000000001 latch-0000000001x  \xff lock-00000000 1")
	f.Fuzz(func(t *testing.T, names string) {
		children := strings.Split(names, " ")
		before := ""
		last := int32(-1)
		for i, c := range parseQueue(children) {
			if !slices.Contains(children, c.Name) || c.Watches != before || c.Leads != (i == 0) || c.Seq < last {
				t.Fatalf("%+v in %q", c, children)
			}
			if n, err := strconv.ParseInt(c.Name[len(c.Name)-10:], 10, 32); err != nil || int32(n) != c.Seq || n < 0 {
				t.Fatalf("%+v has the number %d (%v)", c, n, err)
			}
			before, last = c.Name, c.Seq
		}
	})
}
