package stmformat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/stmformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

func TestMarkersAreProtected(t *testing.T) {
	require.True(t, stmformat.IsMarker(znode.Protected(stmformat.MarkerBase)))
	require.False(t, stmformat.IsMarker("marker"))
	require.False(t, stmformat.IsMarker(znode.Protected("lock-")))
}
