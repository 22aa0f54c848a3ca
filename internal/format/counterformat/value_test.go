package counterformat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

func TestMarksOfValuesAreTheirOwn(t *testing.T) {
	name := znode.Protected(counterformat.ValueBase)
	require.True(t, counterformat.IsValue(name))
	require.False(t, counterformat.IsMark(name))
	require.False(t, counterformat.IsValue(znode.Protected(counterformat.WriterBase)))
	require.False(t, counterformat.IsValue("value"))
}
