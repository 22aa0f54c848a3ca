//go:build unix

package znodecmd

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestSnapshotInTheMiddleIsShownAsChanges: a watcher with a slow reader gets a
// snapshot instead of the missed changes.
func TestSnapshotInTheMiddleIsShownAsChanges(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	client, err := session.Connect(t.Context(), srv.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	plant := func(paths ...string) {
		for _, path := range paths {
			require.NoError(t, srv.Create(path, nil))
		}
	}
	r, out, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	w := &watcher{app: &app{App: &cli.App{Stdout: out}}, known: map[string]cache.Entry[[]byte]{}}
	plant("/a", "/a/same", "/a/old", "/a/changed", "/a/again")
	snapshot := func() *cache.Snapshot[[]byte] {
		view := cache.NewTree(client, "/a", cache.Bytes, nil)
		for e, err := range eventsOf(t, view) {
			require.NoError(t, err)
			return e.Snapshot
		}
		return nil
	}
	require.NoError(t, w.event(cache.Event[[]byte]{Kind: cache.EventSnapshot, Snapshot: snapshot()}))
	require.NoError(t, srv.Delete("/a/old"))
	require.NoError(t, srv.Set("/a/changed", nil))
	require.NoError(t, srv.Delete("/a/again"))
	plant("/a/again", "/a/new")
	require.NoError(t, w.event(cache.Event[[]byte]{Kind: cache.EventSnapshot, Snapshot: snapshot()}))
	require.NoError(t, out.Close())
	var text bytes.Buffer
	_, err = text.ReadFrom(r)
	require.NoError(t, err)
	_, later, _ := strings.Cut(text.String(), "ready    5 znodes\n")
	var words []string
	for line := range strings.Lines(later) {
		words = append(words, strings.Join(strings.Fields(line)[2:4], " "))
	}
	assert.ElementsMatch(t, []string{"removed /a/old", "removed /a/again", "added /a/again", "updated /a/changed", "added /a/new"}, words)
	assert.Less(t, strings.Index(later, "removed  /a/again"), strings.Index(later, "added    /a/again"))
}

// eventsOf runs a view as long as its events are read.
func eventsOf(t *testing.T, view *cache.Tree[[]byte]) func(func(cache.Event[[]byte], error) bool) {
	return func(yield func(cache.Event[[]byte], error) bool) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		// Waited for below; ends with ctx.
		go func() {
			_ = view.Run(ctx)
			close(over)
		}()
		defer func() { cancel(); <-over }()
		view.Events(ctx)(yield)
	}
}
