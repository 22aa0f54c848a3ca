package assignor

import (
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// matchesByPath is the twin of a matcher: it compares each name with each pattern.
func matchesByPath(s *subscription, name string) bool {
	return slices.ContainsFunc(s.patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// drawnNames draws sorted names, each once, many of which begin alike.
func drawnNames(t *rapid.T) []string {
	letters := rapid.SampledFrom([]string{"ab", `abc/]-^é€`, "aé"}).Draw(t, "letters")
	var names []string
	for range rapid.IntRange(1, 40).Draw(t, "names") {
		names = append(names, rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 0, 8, -1).Draw(t, "name"))
	}
	if rapid.Bool().Draw(t, "invalid UTF-8") {
		names = append(names, "a\xff", "\xc3", "b\xa9a")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// drawnSubscriptions draws more patterns than a machine word has bits.
func drawnSubscriptions(t *rapid.T) []subscription {
	piece := rapid.SampledFrom([]string{"a", "b", "*", "*", "?", "[ab]", "[^a]", "[a-c]", "é", "[é]", "[^é]", `\a`, `\*`, "/", "€", "[", "\xa9"})
	subs := make([]subscription, rapid.IntRange(1, 90).Draw(t, "subscriptions"))
	for s := range subs {
		for range rapid.IntRange(1, 3).Draw(t, "patterns") {
			pattern := ""
			for range rapid.IntRange(0, 6).Draw(t, "pieces") {
				pattern += piece.Draw(t, "piece")
			}
			subs[s].patterns = append(subs[s].patterns, pattern)
		}
		slices.Sort(subs[s].patterns)
		subs[s].patterns = slices.Compact(subs[s].patterns)
	}
	return subs
}

// Whether an automaton matches the names with all patterns, or each name is tried with a
// pattern, the answer is that of path.Match.
func TestMatcherFindsTheSubscriptionsThatPathMatchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names, subs := drawnNames(t), drawnSubscriptions(t)
		for _, few := range []int{0, 3, len(names)} {
			m := newMatcher(names, subs, few)
			for j, name := range names {
				set := make([]uint64, 2)
				m.match(j, set)
				for s := range subs {
					require.Equal(t, matchesByPath(&subs[s], name), has(set, int32(s)), "few %d, patterns %q, name %q", few, subs[s].patterns, name)
				}
			}
		}
	})
}

// A pattern with an empty beginning begins at the first name, a pattern with a literal
// beginning at the first name with it, and a longer beginning after a shorter one.
func TestPatternsBeginAtTheFirstNameOfTheirSpan(t *testing.T) {
	names := []string{"a", "ab", "ab1", "ab2", "abc", "abc1", "b", "b1"}
	subs := []subscription{
		{patterns: []string{"*1"}}, {patterns: []string{"a*1"}}, {patterns: []string{"ab*1"}},
		{patterns: []string{"abc*1"}}, {patterns: []string{"b?"}}, {patterns: []string{"ab*"}}, {patterns: []string{"abc"}},
	}
	want := [][]int32{{}, {5}, {0, 1, 2, 5}, {5}, {5, 6}, {0, 1, 2, 3, 5}, {}, {0, 4}}
	for _, few := range []int{0, len(names)} {
		m := newMatcher(names, subs, few)
		for j, name := range names {
			set, got := []uint64{0}, []int32{}
			m.match(j, set)
			for s := range int32(len(subs)) {
				if has(set, s) {
					got = append(got, s)
				}
			}
			require.Equal(t, want[j], got, name)
		}
	}
}

// Names are in one part if their zones are equal and no subscription tells them apart, and
// the parts are in the order of their first names.
func TestPartitionPutsNamesTogetherThatNothingTellsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names, subs := drawnNames(t), drawnSubscriptions(t)
		zones := make([]int32, len(names))
		for j := range zones {
			zones[j] = int32(rapid.IntRange(0, 2).Draw(t, "zone"))
		}
		p := newPartition(names, zones, subs, nil)
		number := map[string]int32{}
		for j, name := range names {
			key := fmt.Sprint(zones[j])
			for s := range subs {
				if matchesByPath(&subs[s], name) {
					key += fmt.Sprint(" ", s)
					require.True(t, has(p.row(p.of[j]), int32(s)), name)
				}
			}
			if _, known := number[key]; !known {
				number[key] = int32(len(number))
			}
			require.Equal(t, number[key], p.of[j], name)
			require.Equal(t, zones[j], p.zone[p.of[j]], name)
		}
		require.Len(t, p.zone, len(number))
	})
}

// A part is found again after the hash table has grown.
func TestPartitionFindsEachOfManyParts(t *testing.T) {
	p := &partition{words: 2, slots: make([]int32, 1)}
	for round := range 2 {
		for n := range 1000 {
			row := []uint64{uint64(n % 40), uint64(n / 40)}
			require.Equal(t, int32(n), p.find(row, int32(n%3)), "round %d", round)
		}
	}
}
