//go:build unix

package taskcmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestOutputAndTailKeepWhatTheyShould, for all chunks.
func TestOutputAndTailKeepWhatTheyShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 900), 0, 6).Draw(t, "chunks")
		all := slices.Concat(chunks...)
		passed := &bytes.Buffer{}
		out, errs := &output{most: 1500, full: make(chan struct{})}, &tail{to: passed}
		for _, c := range chunks {
			n, err := out.Write(c)
			require.NoError(t, err)
			require.Equal(t, len(c), n)
			n, err = errs.Write(c)
			require.NoError(t, err)
			require.Equal(t, len(c), n)
		}
		require.True(t, bytes.Equal(all[:min(len(all), 1500)], out.text))
		require.Equal(t, len(all) > 1500, out.isFull())
		require.True(t, bytes.Equal(all, passed.Bytes()))
		require.True(t, bytes.Equal(all[max(0, len(all)-TailLength):], errs.text))
		require.True(t, strings.HasSuffix(strings.TrimSpace(strings.ToValidUTF8(string(errs.text), "\ufffd")), errs.String()))
	})
}
