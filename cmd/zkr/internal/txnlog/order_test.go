package txnlog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"pgregory.net/rapid"
)

// Whatever the order in which a server logs transactions behind the first, and
// however it distributes them to files, with repetitions: they are returned in order,
// each once, and a reader that starts later returns the rest.
func TestAnyOrderOfLoggingIsPutInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(rt, "transactions")
		order := rapid.Permutation(between(2, txnlog.Zxid(n))).Draw(rt, "order")
		again := rapid.SliceOfN(rapid.SampledFrom(order), 0, 5).Draw(rt, "repeated")
		logs := map[string][]byte{}
		m, name := newImage().sets(1, 1), "log.1"
		for i, z := range append(order, again...) {
			if rapid.IntRange(0, 9).Draw(rt, fmt.Sprint("new file before ", i)) == 0 {
				logs[name] = m.padded(20)
				if next := fmt.Sprintf("log.%x", int64(z)); logs[next] == nil {
					m, name = newImage(), next
				}
			}
			m.sets(z, z)
		}
		logs[name] = m.Bytes
		root := serverDir(t, logs)
		var found findings
		r := openDir(t, "a", root).Transactions(found.options())
		require.Equal(rt, between(1, txnlog.Zxid(n)), zxids(t, r), "%v", logs)
		require.Empty(rt, found)
		require.EqualValues(rt, len(again), r.Duplicates())
		require.NoError(rt, r.Close())
	})
}
