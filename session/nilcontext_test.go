package session

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestFunctionsOfContextsSayThatTheContextIsNil(t *testing.T) {
	var none context.Context
	const text = "session: the context is nil"
	require.PanicsWithValue(t, text, func() { _ = ContextErr(none) })
	require.PanicsWithValue(t, text, func() { _, cancel := WithoutRelease(none); cancel() })
	require.PanicsWithValue(t, text, func() { _, cancel := WithGrace(none, 1); cancel() })
	require.PanicsWithValue(t, text, func() { _, cancel := WithHolds(none); cancel(nil) })
	require.PanicsWithValue(t, text, func() { _, cancel := WithHolds(t.Context(), none); cancel(nil) })
	require.PanicsWithValue(t, text, func() { _, _ = Connect(none, "localhost", nil) })
}

// Nothing is sent first: no reply would be waited for, and nothing cleaned up.
func TestNilContextsAndFunctionsAreFoundBeforeARequestIsSent(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		var none context.Context
		var sent atomic.Int32
		w.srv.OnRequest(func(zktest.Request) zktest.Action {
			sent.Add(1)
			return zktest.Action{}
		})
		for _, f := range []func(){
			func() { _, _ = w.s.CreateProtected(none, "/a", nil, Ephemeral, nil) },
			func() { _ = w.s.EnsureDeleted(none, "/a") },
			func() { _, _, _ = w.s.Get(none, "/a") },
			func() { _, _ = w.s.Txn(none) },
			func() { _ = w.s.ReadFresh(none, "/a", func() error { return nil }) },
		} {
			require.PanicsWithValue(w, "session: the context is nil", f)
		}
		for _, f := range []func(){
			func() { _ = w.client.Retry(w.ctx, nil) },
			func() { _ = w.s.Retry(w.ctx, nil) },
			func() { _ = w.s.ReadFresh(w.ctx, "/a", nil) },
			func() { _, _ = w.s.Subscribe(w.ctx, "/a", true, nil) },
		} {
			require.PanicsWithValue(w, "session: the function is nil", f)
		}
		synctest.Wait()
		require.Zero(w, sent.Load())
		reply := w.s.StartExists("/a", true)
		require.PanicsWithValue(w, "session: the function is nil", func() { reply.Then(nil) })
		seen, err := reply.Wait(w.ctx)
		require.NoError(w, err)
		require.PanicsWithValue(w, "session: the function is nil", func() { seen.Watch.OnFire(nil) })
		require.NoError(w, w.s.Sync(w.ctx, "/"))
	})
}
