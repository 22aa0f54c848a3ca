package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// plant creates /tree with n znodes in all, three to each of the first ones, and /trees beside
// it, which must stay.
func (w *world) plant(n int) {
	w.Helper()
	all := []string{"/tree"}
	for i := 0; len(all) < n; i++ {
		all = append(all, fmt.Sprintf("%s/%d", all[i/3], i))
	}
	for _, path := range append(all, "/trees", "/trees/0") {
		require.NoError(w, w.srv.Create(path, nil))
	}
}

// trees lists what is left.
func (w *world) trees() (left []string) {
	for _, n := range w.srv.Dump() {
		if strings.HasPrefix(n.Path, "/tree") {
			left = append(left, n.Path)
		}
	}
	return left
}

func TestDeleteAllDeletesATree(t *testing.T) {
	for _, n := range []int{1, 2, 40, 1500} {
		inWorld(t, nil, nil, func(w *world) {
			w.plant(n)
			var progress []int
			deleted, err := w.s.DeleteAll(w.ctx, "/tree", &DeleteAllOptions{Most: n, Progress: func(n int) { progress = append(progress, n) }})
			require.NoError(w, err)
			require.Equal(w, n, deleted)
			require.IsIncreasing(w, append([]int{0}, progress...))
			require.Equal(w, n, progress[len(progress)-1])
			require.Equal(w, []string{"/trees", "/trees/0"}, w.trees())

			_, err = w.s.DeleteAll(w.ctx, "/tree", nil)
			require.ErrorIs(w, err, ErrNoNode)
			require.ErrorContains(w, err, "/tree")
		})
	}
}

func TestDeleteAllRefusesWhatItMustNotDelete(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.plant(40)
		before := w.trees()
		for path, says := range map[string]string{"/": "root", "/zookeeper": "servers", "tree": "relative", "/tree/": "/tree/", "": ""} {
			_, err := w.s.DeleteAll(w.ctx, path, nil)
			require.ErrorIs(w, err, ErrInvalidPath, path)
			require.ErrorContains(w, err, says)
		}
		_, err := w.s.DeleteAll(w.ctx, "/tree", &DeleteAllOptions{Most: -1})
		require.ErrorIs(w, err, ErrInvalidArgument)
		for most := 1; most < 40; most++ {
			deleted, err := w.s.DeleteAll(w.ctx, "/tree", &DeleteAllOptions{Most: most})
			require.ErrorIs(w, err, ErrTooManyNodes)
			require.ErrorContains(w, err, fmt.Sprint(most))
			require.Zero(w, deleted)
		}
		require.Equal(w, before, w.trees())
	})
	// With a chroot, its root is refused, and a folder called zookeeper is not.
	inWorld(t, nil, nil, func(w *world) {
		for _, path := range []string{"/app", "/app/zookeeper", "/app/zookeeper/a"} {
			require.NoError(w, w.srv.Create(path, nil))
		}
		c, err := Connect(w.ctx, w.srv.Addr()+"/app", &Options{Dialer: w.srv.Client("below")})
		require.NoError(w, err)
		defer w.close(c)
		s := w.session(c)
		_, err = s.DeleteAll(w.ctx, "/", nil)
		require.ErrorIs(w, err, ErrInvalidPath)
		deleted, err := s.DeleteAll(w.ctx, "/zookeeper", nil)
		require.NoError(w, err)
		require.Equal(w, 2, deleted)
	})
}

// A call either deletes everything or returns an error; the next call deletes the rest; what is
// beside the tree stays.
func TestDeleteAllUnderEveryFault(t *testing.T) {
	faults := []zktest.Fault{
		zktest.DropRequest, zktest.CutBefore, zktest.DropReplyCut, zktest.CutAfter, zktest.DropReplyHole, zktest.ExpireBefore, zktest.ExpireAfter,
	}
	for _, fault := range faults {
		for n, hit := 1, true; hit; n++ {
			inWorld(t, nil, nil, func(w *world) {
				w.plant(12)
				var asked atomic.Int64
				remove := w.srv.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Session != w.s.ID() {
						return zktest.Action{}
					}
					if asked.Add(1) == int64(n) {
						return zktest.Action{Do: fault}
					}
					return zktest.Action{}
				})
				defer remove()
				_, err := w.s.DeleteAll(w.within(time.Minute), "/tree", nil)
				if expires := fault == zktest.ExpireBefore || fault == zktest.ExpireAfter; !expires {
					require.NoError(w, err, "fault %v at request %d", fault, n)
				}
				hit = asked.Load() >= int64(n)
				if err != nil { // the rest, in the next session
					err = w.client.Retry(w.within(time.Minute), func(s *Session) error {
						_, err := s.DeleteAll(w.ctx, "/tree", nil)
						return err
					})
					if !errors.Is(err, ErrNoNode) { // the fault came behind the last deletion
						require.NoError(w, err)
					}
				}
				require.Equal(w, []string{"/trees", "/trees/0"}, w.trees(), "fault %v at request %d", fault, n)
			})
			require.Equal(t, hit, n <= 12+4*2, "one request for each of 12 znodes, and two more for each of four with children")
		}
	}
}

// The caller gives up: the call ends at once.
func TestDeleteAllEndsWithItsContext(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.plant(40)
		w.srv.BlackHole(zktest.Link{Session: w.s.ID()}, zktest.Both)
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		began := time.Now()
		_, err := w.s.DeleteAll(ctx, "/tree", nil)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, time.Second, time.Since(began))
		w.srv.Heal()
	})
}

// Other clients add znodes all the time: the error says so.
func TestDeleteAllDoesNotRaceForever(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.plant(1)
		var more, n atomic.Int64
		more.Store(5)
		remove := w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "delete" && r.Path == "/tree" && more.Add(-1) >= 0 {
				assert.NoError(w, w.srv.Create(fmt.Sprintf("/tree/new-%d", n.Add(1)), nil))
			}
			return zktest.Action{}
		})
		defer remove()
		deleted, err := w.s.DeleteAll(w.ctx, "/tree", nil)
		require.NoError(w, err)
		require.Equal(w, 6, deleted)

		require.NoError(w, w.srv.Create("/tree", nil))
		more.Store(1000)
		_, err = w.s.DeleteAll(w.ctx, "/tree", nil)
		require.ErrorIs(w, err, ErrNotEmpty)
		require.ErrorContains(w, err, "other clients")
	})
}
