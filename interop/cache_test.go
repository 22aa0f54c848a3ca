//go:build unix

package interop_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestTreeAndCuratorCacheAgree: Curator and we change a tree at the same time, and in
// the end both views equal the server's tree.
func TestTreeAndCuratorCacheAgree(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("tree")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	tree := cache.NewTree(c, path, cache.Bytes, nil)
	// Waited for below; ends with ctx.
	go func() { over <- tree.Run(ctx) }()
	java.do(t, ask{"do": "cache.open", "as": "a", "path": path})
	require.NoError(t, tree.WaitSynced(ctx))
	require.Zero(t, tree.Len(), "nothing is there")

	s := current(t, c)
	for round := range 20 {
		var theirs []*call
		for n := range 10 {
			node := fmt.Sprintf("%s/java%d/x%d", path, n%3, n)
			theirs = append(theirs, java.sendRequest(ask{"do": "put", "path": node, "data": fmt.Sprint(round)}))
		}
		for n := range 10 {
			parent := fmt.Sprintf("%s/ours%d", path, n%3)
			require.NoError(t, s.EnsurePath(ctx, parent, session.Persistent, nil))
			_, err := s.Create(ctx, parent+fmt.Sprintf("/x%d.%d", n, round), []byte("new"), session.Persistent, nil)
			require.NoError(t, err)
		}
		for _, put := range theirs {
			put.requireAnswer(t)
		}
		if round%4 == 3 {
			java.do(t, ask{"do": "delete", "path": fmt.Sprintf("%s/ours%d", path, round%3)})
			java.do(t, ask{"do": "delete", "path": fmt.Sprintf("%s/java%d", path, round%3)})
		}
	}

	want := map[string]string{}
	var read func(node string)
	read = func(node string) {
		data, _, err := s.Get(ctx, node)
		require.NoError(t, err)
		want[node] = string(data)
		names, _, err := s.Children(ctx, node)
		require.NoError(t, err)
		for _, name := range names {
			read(node + "/" + name)
		}
	}
	read(path)
	awaitTrue(t, "our view", func() bool {
		got := map[string]string{}
		for e := range tree.All() {
			require.NoError(t, e.Err)
			got[e.Path] = string(e.Value)
		}
		return maps.Equal(want, got)
	})
	awaitTrue(t, "CuratorCache", func() bool {
		return maps.Equal(want, decodeAnswer[map[string]string](t, java.do(t, ask{"do": "cache.dump", "as": "a"})))
	})
	t.Logf("%d nodes", len(want))
	java.do(t, ask{"do": "cache.close", "as": "a"})
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
