package discovery_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Unregistering with the context that ends with that, of every type.
func TestInstanceIsUnregisteredWithItsOwnContext(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				g := w.register(registry(w.Client()), typed("one", typ))
				require.NoError(w, g.Unregister(g.Context()))
				require.Empty(w, w.ids(registry(w.Client()), "web"))
			})
		})
	}
}
