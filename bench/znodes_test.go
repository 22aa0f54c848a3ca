package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// onServer makes znodes on a server of the test.
func onServer(t *testing.T) (znodes, *session.Session) {
	t.Helper()
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	c, err := session.Connect(t.Context(), srv.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	return znodes{c}, s
}

func TestChildrenAreMadeWithTheTimeAsDataAndRemovedWithAllBelow(t *testing.T) {
	z, s := onServer(t)
	for _, n := range []int{0, 1, window, window + 1, 3 * window} {
		require.NoError(t, z.createTree(t.Context(), "/a/b", n))
		names, _, err := s.Children(t.Context(), "/a/b")
		require.NoError(t, err)
		require.Len(t, names, n)
		if n > 0 {
			data, _, err := s.Get(t.Context(), "/a/b/"+task.FirstChild)
			require.NoError(t, err)
			_, err = task.Since(data)
			require.NoError(t, err)
			require.NoError(t, s.EnsurePath(t.Context(), child("/a/b", n-1)+"/deeper/still", session.Persistent, nil))
		}
		require.NoError(t, z.remove(t.Context(), "/a"))
		_, there, err := s.Exists(t.Context(), "/a")
		require.NoError(t, err)
		require.False(t, there)
	}
	require.NoError(t, z.remove(t.Context(), "/a"), "already gone")
}

func TestChangesGoOnUntilTheyAreToldToEnd(t *testing.T) {
	z, s := onServer(t)
	require.NoError(t, z.createTree(t.Context(), "/a", 10))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { ended <- z.change(ctx, "/a") }()
	for range 3 {
		_, stat, watch, err := s.GetW(t.Context(), child("/a", 3))
		require.NoError(t, err)
		_, err = watch.Wait(t.Context())
		require.NoError(t, err)
		_, now, err := s.Get(t.Context(), child("/a", 3))
		require.NoError(t, err)
		require.Greater(t, now.Version, stat.Version)
	}
	cancel()
	require.NoError(t, <-ended)
}

func TestAChangeThatIsRefusedIsAnError(t *testing.T) {
	z, _ := onServer(t)
	require.ErrorIs(t, z.change(t.Context(), "/missing"), session.ErrNoNode)
	require.ErrorIs(t, z.fill(t.Context(), "/missing", 2), session.ErrNoNode)
}
