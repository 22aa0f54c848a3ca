package memberformat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Any data of a znode is refused, or is read as an instance that is written as it was
// read.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"name":"web","id":"i"}`, `{"Name":"x","name":"web","id":"i","port":80,"enabled":false,"payload":{"a":1}}`,
		`{"name":"web","id":"i","serviceType":"STATIC","uriSpec":{"parts":[{"value":"scheme","variable":true},{"value":"://"}]}}`,
		`{"name":"web","id":"i","serviceType":"OTHER"}`, `{"name":"web","id":"i","registrationTimeUTC":253402300800000}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := memberformat.Decode(data)
		if err != nil {
			return
		}
		require.True(t, i.Name != "" && i.ID != "")
		written, err := i.Encode()
		require.NoError(t, err)
		again, err := memberformat.Decode(written)
		require.NoError(t, err)
		require.Equal(t, i.Name, again.Name)
		require.Equal(t, i.Disabled(), again.Disabled())
		require.Equal(t, i.URISpec, again.URISpec)
	})
}

// Java's keys have one spelling: a key of a stranger overwrites nothing.
func TestKeysHaveOneSpelling(t *testing.T) {
	i, err := memberformat.Decode([]byte(`{"name":"web","id":"i","NAME":"other","Port":1}`))
	require.NoError(t, err)
	require.Equal(t, "web", i.Name)
	require.Nil(t, i.Port)
}

func TestNamesOfKazoosMembers(t *testing.T) {
	require.True(t, memberformat.IsParty(znode.Hex(memberformat.KazooParty)))
	require.True(t, memberformat.IsParty(znode.Hex(memberformat.KazooParty)+"0000000001"))
	require.False(t, memberformat.IsParty("x"+memberformat.KazooParty))
	id, ok := memberformat.ShallowID(znode.Hex(memberformat.KazooShallow) + "ann-1")
	require.True(t, ok)
	require.Equal(t, "ann-1", id)
	_, ok = memberformat.ShallowID("ann-1")
	require.False(t, ok)
}
