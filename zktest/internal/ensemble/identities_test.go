package ensemble

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

func TestIdentitiesHaveTheOrderOfAJavaSet(t *testing.T) {
	ip := proto.ID{Scheme: "ip", ID: "127.0.0.1"}
	identitiesOf := func(secrets ...string) (order []string) {
		ids := []proto.ID{ip}
		for _, s := range secrets {
			ids = withIdentity(ids, proto.ID{Scheme: "digest", ID: tree.Digest(s)})
		}
		for _, id := range ids {
			order = append(order, id.ID[:4])
		}
		return order
	}
	// The answers of Apache 3.8.0; package conformance compares them again.
	require.Equal(t, []string{"bob:", "127."}, identitiesOf("bob:pw"))
	require.Equal(t, []string{"bob:", "127.", "eve:"}, identitiesOf("bob:pw", "eve:pw"))
	require.Equal(t, identitiesOf("bob:pw", "eve:pw"), identitiesOf("bob:pw", "eve:pw", "bob:pw"), "an identity counts once")
}
