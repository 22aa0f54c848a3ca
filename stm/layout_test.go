package stm_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// maskUUIDs replaces the unique parts.
func maskUUIDs(text string) string {
	return regexp.MustCompile(`[0-9a-f-]{36}`).ReplaceAllString(text, "<uuid>")
}

// The layout is read by other programs and must not change by accident.
func TestLayoutIsTheGoldenOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/app", nil))
		txs := stm.New(w.Client(), "/app/transactions", nil)
		w.apply(txs, func(tx *stm.Tx) error {
			return errors.Join(tx.Put("/app/a", []byte("1")), tx.Create("/app/e", nil, session.Ephemeral, nil))
		})
		world.Golden(w, *update, w.Tree("/app", maskUUIDs))
	})
}

// Markers go with their session.
func TestNothingButTheWritesOutlivesTheSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		txs := stm.New(client, markers, nil)
		for i := range 3 {
			w.apply(txs, func(tx *stm.Tx) error { return tx.Put(fmt.Sprintf("/n%d", i), nil) })
		}
		require.Len(w, w.Children(markers), 1, "sequential transactions need one marker")
		require.NoError(w, client.Close(w.Ctx))
		require.Empty(w, w.Children(markers))
		require.True(w, w.nodeExists("/n2"))
	})
}
