package optimistic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// numbered makes n znodes with data of that many bytes, and returns their paths; every
// tenth path has no znode.
func numbered(w *world.World, n, bytes int) (paths []string) {
	for i := range n {
		path := fmt.Sprintf("/%06d", i)
		paths = append(paths, path)
		if i%10 != 3 {
			require.NoError(w, w.Server.Create(path, []byte(path+strings.Repeat("x", bytes))))
		}
	}
	return paths
}

// checkSeen asserts that the znodes of numbered were seen.
func checkSeen(w *world.World, paths []string, seen []session.Seen) {
	require.Len(w, seen, len(paths))
	for i, path := range paths {
		require.Equal(w, i%10 != 3, seen[i].Exists, path)
		if seen[i].Exists {
			require.Equal(w, path, string(seen[i].Data)[:len(path)])
			require.NotZero(w, seen[i].Stat.Czxid)
		}
	}
}

func TestManySmallZnodesAreReadWithFewRequests(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 8: 1, 9: 2, 1000: 18, 5000: 49} {
		world.In(t, nil, func(w *world.World) {
			paths := numbered(w, n, 100)
			r := &optimistic.Reading{Ctx: w.Ctx, Session: w.Session(w.Client())}
			w.ResetStats()
			var b optimistic.Batches
			seen := b.GetAll(r, paths)
			require.NoError(w, r.Err)
			checkSeen(w, paths, seen)
			requests := w.Server.Stats().Requests
			require.Equal(w, want, requests["multiRead"], "%d znodes: %v", n, requests)
			require.Zero(w, requests["getData"])
		})
	}
}

// Batches of long data are small: a reply has about 256 KiB.
func TestBatchesOfLongDataAreSmall(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		paths := numbered(w, 100, 100_000)
		r := &optimistic.Reading{Ctx: w.Ctx, Session: w.Session(w.Client())}
		w.ResetStats()
		var b optimistic.Batches
		checkSeen(w, paths, b.GetAll(r, paths))
		require.Greater(w, w.Server.Stats().Requests["multiRead"], 20)
	})
}

// A batch whose reply is too long for the client, and an old server, cost the connection
// once; then the znodes are read one by one.
func TestZnodesAreReadOneByOneIfBatchesFail(t *testing.T) {
	for name, o := range map[string]*zktest.Options{"reply too long": nil, "old server": {OldServer: true}} {
		t.Run(name, func(t *testing.T) {
			world.In(t, o, func(w *world.World) {
				paths := numbered(w, 1000, 1000)
				c := w.ClientWith(session.Options{MaxReply: 4 << 10})
				var b optimistic.Batches
				calls := 0
				err := optimistic.Change(w.Ctx, c, errMisfit, func(s *session.Session) error {
					calls++
					r := &optimistic.Reading{Ctx: w.Ctx, Session: s}
					if r.Get("/000000"); r.Err != nil { // waits for a connection
						return r.Err
					}
					seen := b.GetAll(r, paths)
					if r.Err == nil {
						checkSeen(w, paths, seen)
					}
					return r.Err
				})
				require.NoError(w, err)
				require.Equal(w, 2, calls)
			})
		})
	}
}

// A znode that may not be read is an error, and nothing is read after it.
func TestBatchWithAZnodeThatMayNotBeReadIsAnError(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		paths := numbered(w, 1000, 0)
		ann := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("ann", "secret")}})
		_, err := w.Session(ann).Create(w.Ctx, paths[3], nil, session.Persistent, &session.CreateOptions{ACL: session.CreatorACL()})
		require.NoError(w, err)
		r := &optimistic.Reading{Ctx: w.Ctx, Session: w.Session(w.Client())}
		var b optimistic.Batches
		require.Empty(w, b.GetAll(r, paths))
		require.ErrorIs(w, r.Err, session.ErrNoAuth)
		require.False(w, errors.Is(r.Err, optimistic.ErrChanged))
		require.Empty(w, b.GetAll(r, paths), "the first error counts")
	})
}
