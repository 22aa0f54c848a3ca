package workerctl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Any invalid record is an ErrRecord.
func TestInvalidDataIsErrRecord(t *testing.T) {
	for _, bad := range []string{"", "{}", `{"format":2}`} {
		_, err := jobOf("a", []byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
		_, err = memberOf("1", []byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
		_, err = decodeStatus([]byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
		_, err = decodeEnding([]byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
		_, err = parseID(bad)
		require.ErrorIs(t, err, ErrRecord, bad)
	}
}

func TestRangesAreShort(t *testing.T) {
	require.Equal(t, "0-3, 7, 9-10", formatRanges([]int{0, 1, 2, 3, 7, 9, 10}))
	require.Empty(t, formatRanges(nil))
}
