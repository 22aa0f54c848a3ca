package lockformat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

func TestBreakIsReadAsItWasWritten(t *testing.T) {
	b := lockformat.Break{Format: 1, Holder: "web-1", Session: "0xfff0000000000001", Token: 1 << 62, By: "alice", Reason: "it \"hangs\"\n", Attempt: "x", At: time.Unix(1, 2).UTC()}
	read, err := lockformat.ParseBreak(b.Encode())
	require.NoError(t, err)
	require.Equal(t, b, read)
	require.EqualValues(t, -0xfffffffffffff, read.SessionID())
	require.Zero(t, lockformat.Break{Session: "garbage"}.SessionID())
	for _, data := range []string{"", "{", "[]", `{}`, `{"format": 2}`} {
		_, err := lockformat.ParseBreak([]byte(data))
		require.ErrorContains(t, err, "the record of a broken hold")
	}
}

// The names of records are no contenders'.
func TestNamesOfBreaksAreNoContenders(t *testing.T) {
	for _, token := range []int64{0, 1, 1<<63 - 1} {
		name := lockformat.BreakName(token)
		require.Len(t, name, 16)
		require.True(t, lockformat.IsBreakName(name))
		for _, markers := range [][]string{lockformat.MutexMarkers(), lockformat.RWMarkers(), lockformat.ElectionMarkers()} {
			require.Empty(t, znode.Parse([]string{name}, markers...).Entries)
		}
	}
	for _, name := range []string{"", "x", "000000000000001", "00000000000000012", "000000000000001G", "000000000000001A"} {
		require.False(t, lockformat.IsBreakName(name), name)
	}
}
