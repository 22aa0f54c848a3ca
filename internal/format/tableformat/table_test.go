package tableformat_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Any tree is accepted: a lock is read as held, as free, or is refused.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"format":1,"client":"_c_00000000-0000-4000-8000-000000000000-owner","more":[1]}`, `{"more":1}`, `{"format":2}`,
		`{"client":"../x-owner"}`, `{"client":"x"}`, `{"format":"1"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := tableformat.Decode(data, tableformat.IsOwner)
		var newer *versioned.FormatError
		if err != nil {
			require.True(t, errors.Is(err, tableformat.ErrGarbage) || errors.As(err, &newer))
			return
		}
		require.True(t, l.Client == "" || tableformat.IsOwner(l.Client) && znode.IsName(l.Client))
		if l.Format == tableformat.Format {
			again, err := tableformat.Decode(l.Encode(), tableformat.IsOwner)
			require.NoError(t, err)
			require.Equal(t, l, again)
		}
	})
}

func TestOwnersAreProtected(t *testing.T) {
	require.True(t, tableformat.IsOwner(znode.Protected(tableformat.OwnerBase)))
	require.False(t, tableformat.IsOwner("owner"))
	require.False(t, tableformat.IsOwner(znode.Protected("lock-")))
}
