package value_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/value"
)

// The layout is read by other programs and must not change by accident.
func TestLayoutIsTheGoldenOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		seed := &value.Options{Seed: []byte("seed")}
		w.set(value.New(client, "/golden/set", nil), "bytes")
		w.add(value.New(client, "/golden/update", seed), "!", "seed!")
		w.swap(value.New(client, "/golden/swap-that-fails", nil), "a", "b", false)
		w.get(value.New(client, "/golden/read", nil))
		w.get(value.New(client, "/golden/read-with-seed", seed))
		uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
		tree := w.Tree("/golden", func(text string) string { return uuid.ReplaceAllString(text, "<uuid>") })
		world.Golden(w, *update, tree)
	})
}

// The znodes that the operations leave go with the session, except for the values.
func TestNothingButValuesOutlivesTheSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		w.set(value.New(client, path, nil), "x")
		require.Len(w, w.Children(path), 1)
		require.NoError(w, client.Close(w.Ctx))
		require.Empty(w, w.Children(path))
		w.holds("x")
	})
}
