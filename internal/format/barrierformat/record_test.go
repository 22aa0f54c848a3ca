package barrierformat

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	for _, r := range []Record{
		{Kind: KindBarrier, Czxid: 1<<32 + 5, Parties: 3},
		{Kind: KindDouble, Parties: 2, Round: 2, Released: Ranges{{0, 1}, {4, 5}}},
		{Kind: KindBarrier, Parties: 2, Round: 100, Released: Ranges{{7, 9}}},
	} {
		back, err := Parse(r.Encode())
		require.NoError(t, err)
		require.Equal(t, r, back)
	}
}

// Fields that this version does not know are refused, since a record that is replaced
// would lose them; a newer format is named.
func TestNewerRecordsAreRefused(t *testing.T) {
	_, err := Parse([]byte(`{"kind":"barrier","parties":1,"round":0,"released":"","more":1}`))
	require.ErrorContains(t, err, "more")
	_, err = Parse([]byte(`{"format":2,"kind":["barrier"]}`))
	var newer *versioned.FormatError
	require.True(t, errors.As(err, &newer))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"kind":"barrier","czxid":4294967301,"parties":3,"round":7,"released":"0-20"}`))
	f.Add([]byte(`{"kind":"double","parties":1,"round":9,"released":"3,5-7"}`))
	f.Add([]byte(`{"format":2,"kind":"double"}`))
	f.Add([]byte(`10.0.0.1`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		require.True(t, r.Plausible())
		back, err := Parse(r.Encode())
		require.NoError(t, err)
		require.Equal(t, r, back)
	})
}

func TestPartiesHaveTheirIDs(t *testing.T) {
	for _, id := range []string{"a", "x-party-1", "ü"} {
		require.NoError(t, ValidateID(id))
		name := fmt.Sprintf("%s%010d", PartyName(id), 7)
		got, ok := IDOf(name)
		require.True(t, ok)
		require.Equal(t, id, got)
		require.Equal(t, name, Parties([]string{name, "config"}).Entries[0].Name)
		require.Len(t, UUIDOf(name), 36)
	}
	for _, name := range []string{"", "config", "_c_x-party-0000000001", "_c_6f0a2f6e-4c52-4a2f-8f0e 0d1c8f4c2a10-a-party-0000000001"} {
		_, ok := IDOf(name)
		require.False(t, ok, name)
	}
}
