package counterformat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

func TestWritersAreProtected(t *testing.T) {
	require.True(t, counterformat.IsWriter(znode.Protected(counterformat.WriterBase)))
	require.False(t, counterformat.IsWriter("writer"))
	require.False(t, counterformat.IsWriter(znode.Protected("x-writer")))
}
