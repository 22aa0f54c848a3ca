package stm_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/stm"
)

// The costs promised by the package's documentation.
func TestRequestsOfATransaction(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		client := w.Client()
		txs := stm.New(client, markers, nil)
		cost := func(f func(tx *stm.Tx) error) int {
			w.ResetStats()
			if err := txs.Apply(w.Ctx, f); err != nil {
				require.ErrorIs(w, err, io.EOF)
			}
			return w.Requests(client)
		}
		w.apply(txs, move("/a", "/b", 1))
		require.Equal(w, 3, cost(move("/a", "/b", 1)), "two reads, one transaction")
		require.Equal(w, 1, cost(func(tx *stm.Tx) error { return tx.Set("/a", nil) }), "without a read")
		require.Equal(w, 2, cost(func(tx *stm.Tx) error { _, err := tx.Get("/a"); return err }), "reads alone: one proof")
		require.Equal(w, 2, cost(func(tx *stm.Tx) error { _, _ = tx.Get("/a"); return io.EOF }), "an error: one proof")
		require.Equal(w, 0, cost(func(*stm.Tx) error { return io.EOF }), "nothing at all")
		require.Equal(w, 2, cost(func(tx *stm.Tx) error { return add(tx, "/new", 1) }), "absent below the root")
		require.Equal(w, 3, cost(func(tx *stm.Tx) error { _, err := tx.Get("/b/x"); return err }), "absent: its parent is read too")

		fresh := stm.New(client, markers, nil)
		w.ResetStats()
		w.apply(fresh, move("/a", "/b", 1))
		require.Equal(w, 3+world.RoundTripsOfCreation(), w.Requests(client), "the first transaction creates a marker")
	})
}
