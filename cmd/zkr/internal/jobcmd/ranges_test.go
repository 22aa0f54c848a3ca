//go:build unix

package jobcmd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRangesAreTheNumbers: whatever they are, in order and each once.
func TestRangesAreTheNumbers(t *testing.T) {
	assert.Empty(t, formatRanges(nil))
	assert.Equal(t, "0-3, 7, 9-10", formatRanges([]int{10, 0, 1, 2, 3, 7, 9}))
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.IntRange(0, 40), rapid.ID[int]).Draw(t, "ids")
		text := formatRanges(ids)
		parts := strings.Split(text, ", ")
		for id := range 42 {
			in := slices.ContainsFunc(parts, func(part string) bool {
				from, to, ok := strings.Cut(part, "-")
				if !ok {
					to = from
				}
				return idIn(t, from) <= id && id <= idIn(t, to)
			})
			require.Equal(t, slices.Contains(ids, id), in, "%d in %q", id, text)
		}
		for i := 1; i < len(parts); i++ {
			before := parts[i-1][strings.LastIndexByte(parts[i-1], '-')+1:]
			after, _, _ := strings.Cut(parts[i], "-")
			require.Greater(t, idIn(t, after), idIn(t, before)+1, "%q has as few parts as can be", text)
		}
	})
}

// idIn reads an id; 99, an unused id, for no text.
func idIn(t *rapid.T, text string) (n int) {
	if text == "" {
		return 99
	}
	require.NoError(t, json.Unmarshal([]byte(text), &n))
	return n
}
