package history

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Bound makes an archive keep other states than by default, before it is read.
func (a *Archive) Bound(size int64, number int, span int64) { a.bounds = bounds{size, number, span} }

// Kept is the number of kept states, and their memory beside the first one.
func (a *Archive) Kept() (number int, size int64) {
	all := a.whole().checkpoints
	return len(all), sizeOf(all)
}

// Transactions are those of the files, in their order.
func (o *Origin) Transactions(t *testing.T) (next func() (*txnlog.Txn, error)) {
	t.Helper()
	r, err := o.Reader(t.Context(), "/", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r.source.Next
}
