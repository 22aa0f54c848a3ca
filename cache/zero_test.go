package cache_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	type bytes = []byte
	world.Misuse{
		Invalid: cache.ErrInvalidArgument,
		Zero: map[string]any{
			"Children": new(cache.Children[bytes]), "Entry": new(cache.Entry[bytes]), "Event": new(cache.Event[bytes]),
			"EventKind": new(cache.EventKind), "Snapshot": new(cache.Snapshot[bytes]), "Tree": new(cache.Tree[bytes]),
			"Value": new(cache.Value[bytes]), "View": new(cache.View[bytes]),
		},
		NoClient: map[string]any{
			"NewChildren": cache.NewChildren(nil, "/c", cache.Bytes, nil), "NewTree": cache.NewTree(nil, "/t", cache.Bytes, nil),
			"NewValue": cache.NewValue(nil, "/v", cache.Bytes, nil),
		},
	}.Check(t)
}
