//go:build unix

package interop_test

import (
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// javaModes are the modes that a znode shared with Java can have.
func javaModes() map[session.Mode]string {
	return map[session.Mode]string{session.Persistent: "PERSISTENT", session.Container: "CONTAINER"}
}

// awaitKept waits for a znode of k that is newer than the token was.
func awaitKept(t *testing.T, k *node.Kept, was int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for s, err := range k.States(ctx) {
		require.NoError(t, err)
		if s.Exists && s.Token > was {
			return
		}
	}
	t.Fatal("it is kept no more")
}

// dataAt reads a znode; exists is false if there is none.
func dataAt(t *testing.T, c *session.Client, path string) (data string, stat session.Stat, exists bool) {
	t.Helper()
	ctx, s := t.Context(), current(t, c)
	require.NoError(t, s.Sync(ctx, path))
	stat, exists, err := s.Exists(ctx, path)
	require.NoError(t, err)
	if !exists {
		return "", stat, false
	}
	text, stat, err := s.Get(ctx, path)
	if err != nil {
		require.ErrorIs(t, err, session.ErrNoNode)
		return "", stat, false
	}
	return string(text), stat, true
}

// awaitData waits until the znode has this data.
func awaitData(t *testing.T, c *session.Client, path, want string) {
	t.Helper()
	awaitTrue(t, path+" has "+want, func() bool {
		got, _, exists := dataAt(t, c, path)
		return exists && got == want
	})
}

// TestNodeIsKeptWithCurator: both keep one znode, and each creates it again when the other
// has deleted it. Curator writes its data over ours when it starts; ours writes when the
// caller does.
func TestNodeIsKeptWithCurator(t *testing.T) {
	t.Parallel()
	for mode, name := range javaModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			java, c, ctx := start(t, curator, timeout), connect(t), t.Context()
			path := fresh("kept")
			do := func(what, data string) {
				java.do(t, ask{"do": "node." + what, "path": path, "as": "a", "mode": name, "data": data})
			}
			k, err := node.New(c, path, mode, nil).Keep(ctx, []byte("go"))
			require.NoError(t, err)
			do("keep", "java")
			awaitData(t, c, path, "java")
			require.NoError(t, k.Context().Err(), "it is the same znode")
			require.NoError(t, k.SetData(ctx, []byte("go again")))
			awaitData(t, c, path, "go again")
			do("set", "java again")
			awaitData(t, c, path, "java again")

			// Curator sets its watch again after each change of the data, and does not notice a
			// znode that was deleted and created in between.
			watched(t, path, func(sessions []int64) bool { return len(sessions) == 2 })
			was := k.Token()
			require.NoError(t, current(t, c).Delete(ctx, path, -1))
			awaitKept(t, k, was)
			awaitTrue(t, "both", func() bool { // the second one writes its data over that of the first
				_, stat, exists := dataAt(t, c, path)
				return exists && stat.Version > 0
			})
			require.NoError(t, k.SetData(ctx, []byte("go at last")))
			awaitData(t, c, path, "go at last")

			was = k.Token()
			do("close", "") // deletes it
			awaitKept(t, k, was)
			awaitData(t, c, path, "go at last")

			do("keep", "java is back")
			awaitData(t, c, path, "java is back")
			require.NoError(t, k.Release(ctx)) // deletes it
			awaitData(t, c, path, "java is back")
			do("close", "")
			_, _, exists := dataAt(t, c, path)
			require.False(t, exists)
		})
	}
}

// TestEphemeralNodeIsNotSharedWithCurator: ours leaves Curator's znode alone, and gets the
// path when Curator has gone. Curator writes into ours, and does not own it.
func TestEphemeralNodeIsNotSharedWithCurator(t *testing.T) {
	t.Parallel()
	java, c, ctx := start(t, curator, timeout), connect(t), t.Context()
	path := fresh("kept")
	keep := ask{"do": "node.keep", "path": path, "as": "a", "mode": "EPHEMERAL", "data": "java"}
	java.do(t, keep)
	_, stat, exists := dataAt(t, c, path)
	require.True(t, exists)
	_, err := node.New(c, path, session.Ephemeral, nil).Keep(ctx, []byte("go"))
	require.ErrorIs(t, err, node.ErrConflict)
	got, same, _ := dataAt(t, c, path)
	require.Equal(t, "java", got)
	require.Equal(t, stat, same)

	kept := make(chan *node.Kept, 1)
	failed := make(chan error, 1)
	// Waited for below; ends with the test's context at the latest.
	go func() {
		k, err := node.New(c, path, session.Ephemeral, &node.Options{Wait: true}).Keep(ctx, []byte("go"))
		failed <- err
		kept <- k
	}()
	java.do(t, ask{"do": "node.close", "as": "a"})
	require.NoError(t, <-failed)
	k := <-kept
	java.do(t, keep)
	awaitData(t, c, path, "java")
	_, stat, _ = dataAt(t, c, path)
	require.Equal(t, current(t, c).ID(), stat.EphemeralOwner)
	require.Equal(t, k.Token(), stat.Czxid)
	require.NoError(t, k.Context().Err())
	java.do(t, ask{"do": "node.close", "as": "a"})
	require.NoError(t, k.Release(ctx))
}

// TestSequentialNodeIsNamedAsCurators, with protection.
func TestSequentialNodeIsNamedAsCurators(t *testing.T) {
	t.Parallel()
	java, c := start(t, curator, timeout), connect(t)
	path := fresh("kept-")
	java.do(t, ask{"do": "node.keep", "path": path, "as": "a", "mode": "EPHEMERAL_SEQUENTIAL", "protection": true})
	theirs := decodeAnswer[string](t, java.do(t, ask{"do": "node.path", "as": "a"}))
	k, err := node.New(c, path, session.EphemeralSequential, nil).Keep(t.Context(), nil)
	require.NoError(t, err)
	form := regexp.MustCompile(`^/interop-[^/]+/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-kept-\d{10}$`)
	require.Regexp(t, form, theirs)
	require.Regexp(t, form, k.Path())
	java.do(t, ask{"do": "node.close", "as": "a"})
	require.NoError(t, k.Release(t.Context()))
}

// TestTTLNodeIsKeptWithCurator: whichever creates the znode, the touches of either keep it,
// also when the other has gone; without both it expires.
func TestTTLNodeIsKeptWithCurator(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	o := options()
	o.Own, o.Mode, o.ContainerInterval = true, apache.Mode(os.Getenv(envMode)), 500*time.Millisecond
	cluster := apache.Require(t, o)
	java := startOn(t, cluster, curator, timeout)
	ctx := t.Context()
	c, err := session.Connect(ctx, cluster.Connect(), &session.Options{Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	for _, oursFirst := range []bool{true, false} {
		for _, oursStays := range []bool{true, false} {
			path := fresh("kept")
			var k *node.Kept
			keeps := []func(){
				func() {
					k, err = node.New(c, path, session.PersistentTTL, &node.Options{TTL: ttl}).Keep(ctx, []byte("go"))
					require.NoError(t, err)
				},
				func() {
					java.do(t, ask{"do": "ttl.keep", "path": path, "as": "a", "ttl": ttl.Milliseconds(), "data": "java"})
				},
			}
			ends := []func(){func() { require.NoError(t, k.Release(ctx)) }, func() { java.do(t, ask{"do": "ttl.close", "as": "a"}) }}
			first, stays := 1, 1
			if oursFirst {
				first = 0
			}
			if oursStays {
				stays = 0
			}
			keeps[first]()
			keeps[1-first]()
			ends[1-stays]()
			// Each refresh writes the child; a machine that stands still may let it expire.
			for last, seen := int64(0), 0; seen < 3; {
				awaitTrue(t, "refresh", func() bool {
					_, stat, exists := dataAt(t, c, path+"/touch")
					if !exists || stat.Mzxid == last {
						return false
					}
					last = stat.Mzxid
					return true
				})
				seen++
			}
			awaitTrue(t, "the znode, which may have expired, too", func() bool {
				_, _, exists := dataAt(t, c, path)
				return exists
			})
			ends[stays]()
			awaitTrue(t, "expiry", func() bool {
				_, _, exists := dataAt(t, c, path)
				return !exists
			})
		}
	}
}
