package recognize

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A code is a label in metrics and alerts: each is documented, and none of them occurs twice.
func TestCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../../docs/metrics.md")
	require.NoError(t, err)
	seen := map[Code]bool{}
	for _, code := range Codes() {
		require.Regexp(t, `^[a-z]+(_[a-z]+)*$`, string(code))
		require.Contains(t, string(text), "| `"+string(code)+"` |")
		require.False(t, seen[code], "%s occurs twice", code)
		seen[code] = true
	}
	source, err := os.ReadFile("code.go")
	require.NoError(t, err)
	require.Len(t, regexp.MustCompile(`Code = "`).FindAll(source, -1), len(seen), "Codes has all of them")
}
