package workerctl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// Jobs, and barriers of other kinds, are told from the rest by how their names begin.
func TestNamesOfJobsAndPlacesAreNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := session.EscapeName(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{".", "..", "/", "~"})).Draw(t, "name"))
		require.True(t, isJob(e))
		require.False(t, strings.HasPrefix(e, phaseMark))
	})
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"00000000-0000-4000-8000-000000000000","name":"a"}`))
	f.Add([]byte(`{"state":"running","workers":4,"next":3,"left":1,"joins":3}`))
	f.Add([]byte(`{"id":3,"name":"x","incarnation":1,"claim":"00000000-0000-4000-8000-000000000000"}`))
	f.Add([]byte(`{"state":"running","workers":4,"next":5}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := decode[job](data); err == nil {
			again, err := decode[job](encode(r))
			require.NoError(t, err)
			require.Equal(t, r.ID, again.ID)
			_ = newRun(defaultRoot, r.Name, r.ID)
		} else {
			require.ErrorIs(t, err, ErrRecord)
		}
		if s, err := decode[status](data); err == nil {
			again, err := decode[status](encode(s))
			require.NoError(t, err)
			require.Equal(t, s, again)
			require.True(t, s.Left <= s.Next && s.Next <= s.Workers)
		}
		if m, err := decode[member](data); err == nil {
			_ = m.live()
			require.GreaterOrEqual(t, m.ID, 0)
		}
	})
}

func TestWhatIsNoRecordIsRefused(t *testing.T) {
	for _, bad := range []string{
		"", "null", "7", "{}", `{"format":2,"id":"00000000-0000-4000-8000-000000000000","name":"a"}`,
		`{"format":1,"id":"00000000-0000-4000-8000-00000000000G","name":"a"}`, `{"format":1,"id":"x","name":"a"}`,
	} {
		_, err := decode[job]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
	}
	for _, bad := range []string{
		"{}", `{"state":"paused","workers":1}`, `{"state":"failed","workers":1}`, `{"state":"running","workers":0}`, `{"state":"running","workers":2,"next":3}`,
		`{"state":"running","workers":2,"next":1,"left":2}`, `{"state":"running","workers":2,"next":1,"left":-1}`,
	} {
		_, err := decode[status]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
	}
	for _, bad := range []string{"{}", `{"id":-1,"name":"x","incarnation":1}`} {
		_, err := decode[member]([]byte(bad))
		require.ErrorIs(t, err, ErrRecord, bad)
	}
}

func TestIDsAreWrittenInOneWay(t *testing.T) {
	for _, bad := range []string{"", "-1", "+1", "01", "1 ", "x", "99999999999"} {
		_, err := parseID(bad)
		require.ErrorIs(t, err, ErrRecord, bad)
	}
	id, err := parseID("0")
	require.NoError(t, err)
	require.Zero(t, id)
}

func TestRangesAreShort(t *testing.T) {
	require.Equal(t, "0-3, 7, 9-10", ranges([]int{0, 1, 2, 3, 7, 9, 10}))
	require.Empty(t, ranges(nil))
}
