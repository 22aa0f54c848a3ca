package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"pgregory.net/rapid"
)

func TestEscapedNamesAreNodeNamesAndDifferent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringN(100, 300, -1), rapid.SampledFrom([]string{".", "..", "/", "a/b", "~", "%7E", "^", "\x00", "\xff"}))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		name := EscapeName(a)
		require.Equal(t, a == "", name == "")
		require.Equal(t, a == b, name == EscapeName(b))
		require.LessOrEqual(t, len(name), znode.MaxEscaped)
		require.NotContains(t, name, "/")
		require.NotContains(t, name, "~")
		require.False(t, strings.HasPrefix(name, "."))
		if a != "" {
			require.NoError(t, ValidatePath("/"+name))
		}
	})
}

// The form must never change: existing znodes are found by their escaped names.
func TestEscapedNamesStayAsTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		"report-7_a:b@c+d=e.f":   "report-7_a:b@c+d=e.f",
		".hidden":                "%2Ehidden",
		"a/b c":                  "a%2Fb%20c",
		"%~^ö":                   "%25%7E%5E%C3%B6",
		strings.Repeat("x", 120): strings.Repeat("x", 120),
		strings.Repeat("x", 121): strings.Repeat("x", 55) + "^79072a47bfaa54e6057a9ee21e0dea64b9edbfd160c4ccadbb657e64b6d22ee4",
	} {
		require.Equal(t, want, EscapeName(text))
	}
	require.NotEqual(t, EscapeName(strings.Repeat("x", 201)), EscapeName(strings.Repeat("x", 202)), "they begin alike")
}
