package assignor_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// Nothing, and zero values, are members and resources like others: no function panics.
func TestNilAndZeroValuesAreHandled(t *testing.T) {
	for _, members := range [][]assignor.Member{nil, {}, {{}}, {{}, {}}, {{Weight: -1, Subscription: []string{"["}, Held: []string{"", "x"}}}} {
		for _, resources := range [][]assignor.Resource{nil, {}, {{}}, {{}, {Name: "x"}}} {
			for _, name := range assignor.Names() {
				a, err := assignor.ByName(name)
				require.NoError(t, err)
				got := a.Assign(members, resources)
				require.NoError(t, assignor.Check(members, resources, got), name)
				require.Len(t, assignor.Limit(members, got, -1), len(members))
			}
			require.Len(t, assignor.Limit(members, nil, 1), len(members))
			if len(members) > 0 {
				require.ErrorIs(t, assignor.Check(members, resources, nil), assignor.ErrInvalid)
			}
		}
	}
	_, err := assignor.ByName("")
	require.ErrorIs(t, err, assignor.ErrUnknown)
}
