package assignor

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sameAsPath compares all ways to match with path.Match.
func sameAsPath(t require.TestingT, pattern string, names []string) {
	m := newMatcher(names, []subscription{{patterns: []string{pattern}}}, 0)
	g := compile(pattern)
	for j, name := range names {
		want, err := path.Match(pattern, name)
		want = want && err == nil
		takes := []uint64{0}
		m.match(j, takes)
		require.Equal(t, want, takes[0] == 1, "matcher: pattern %q, name %q", pattern, name)
		require.Equal(t, want, (&Member{Subscription: []string{pattern}}).takes(name))
		if g != nil && easy(name) {
			require.Equal(t, want, g.match(name), "pattern %q, name %q", pattern, name)
		}
	}
}

func TestPatternsMatchAsThoseOfPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune(`ab*?[]^-\/é`)), 0, 10, -1).Draw(t, "pattern")
		letters := rapid.SampledFrom([]string{"ab", `ab/]-^é`}).Draw(t, "letters")
		names := map[string]bool{"": true, "a": true}
		for range 20 {
			names[rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 0, 8, -1).Draw(t, "name")] = true
		}
		var list []Resource
		for name := range names {
			list = append(list, Resource{Name: name})
		}
		sorted, _ := sortedNames(list)
		sameAsPath(t, pattern, sorted)
	})
}

// Each part between two stars is looked for behind the part before.
func TestPartsOfAPatternMatchOneBehindTheOther(t *testing.T) {
	names := []string{"", "a", "aa", "ab", "aba", "abab", "ba", "bab", "bb", "cab"}
	for _, pattern := range []string{"*a*a*", "*ab*ab*", "*a*b*a*", "*?*?*", "*[ab]*[ab]*", "a*b*", "*b*b", "a*a", "ab*ba"} {
		require.NotNil(t, compile(pattern))
		sameAsPath(t, pattern, names)
	}
	require.False(t, compile("*a*a*").match("a"))
	require.True(t, compile("*a*a*").match("aba"))
}

func TestMostPatternsAreCompiled(t *testing.T) {
	for pattern, want := range map[string]bool{
		"*": true, "a?c": true, "*[02468]": true, "a*b*c": true, `\*`: true, "[^a-c]*": true, "": true, `[\]]`: true,
		"[": false, "[]": false, "[]a]": false, `\`: false, "é*": false, "[é]": false, `\é`: false, `[\`: false, "a[b-": false, "[-]": false,
	} {
		require.Equal(t, want, compile(pattern) != nil, "%q", pattern)
	}
}

func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{"*a", "a*b?c", `[a-z]*\*`, "[^/]", "**", "a[", "*a*b"} {
		f.Add(pattern, "ab/c")
		f.Add(pattern, "aabbcc")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) { sameAsPath(t, pattern, []string{name}) })
}
