//go:build unix

package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// TestWeAskCuratorsReadersAndWriter: the listeners of makeRevocable of readLock and writeLock
// are called.
func TestWeAskCuratorsReadersAndWriter(t *testing.T) {
	t.Parallel()
	java, c := start(t, curator, timeout), connect(t)
	for _, recipe := range []string{"revocable read", "revocable write"} {
		path := fresh("rw")
		java.do(t, ask{"do": "hold", "recipe": recipe, "path": path, "as": recipe})
		isAsked := func() bool { return string(java.do(t, ask{"do": "asked", "as": recipe})) == "true" }
		m := rwlock.New(c, path, nil)
		list, err := m.Contenders(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.False(t, isAsked(), recipe)
		require.NoError(t, m.Revoke(t.Context(), list[0]))
		require.Eventually(t, isAsked, 20*time.Second, 10*time.Millisecond, recipe)
		java.do(t, ask{"do": "release", "as": recipe})
	}
}

// TestCuratorAsksOurReaderAndWriter: Curator's Revoker writes into our znode.
func TestCuratorAsksOurReaderAndWriter(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, timeout), connect(t), fresh("rw")
	m := rwlock.New(c, path, nil)
	for recipe, lock := range map[string]func() (*rwlock.Held, error){
		"write": func() (*rwlock.Held, error) { return m.RLock(t.Context()) }, // each waits for the other
		"read":  func() (*rwlock.Held, error) { return m.Lock(t.Context()) },
	} {
		held, err := lock()
		require.NoError(t, err)
		asked := make(chan error, 1)
		// Waited for below; ends with the hold.
		go func() { asked <- held.AwaitRevocation(t.Context()) }()
		waits := java.sendRequest(ask{"do": "hold", "recipe": recipe, "path": path, "as": recipe})
		queued(t, c, path, 2)
		require.Empty(t, asked)
		java.do(t, ask{"do": "revoke", "path": held.Path()})
		require.NoError(t, <-asked)
		require.NoError(t, held.Context().Err())
		require.True(t, waits.pending())
		require.NoError(t, held.Unlock(t.Context()))
		waits.requireAnswer(t)
		java.do(t, ask{"do": "release", "as": recipe})
	}
}
