package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// This file tests other programs that touch the znodes.

// enter makes a stranger's contender, and returns its path.
func (w *World) enter(prefix string) string {
	w.Helper()
	path, err := w.Server.CreateSequential(dir+"/"+prefix, []byte("stranger"))
	require.NoError(w, err)
	return path
}

// The contenders of other libraries count, in both layouts.
func TestContendersOfOtherLibrariesAreHonored(t *testing.T) {
	const uuid, hex = "_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-", "0123456789abcdef0123456789abcdef"
	for prefix, writes := range map[string]bool{
		uuid + "__WRIT__": true, uuid + "__READ__": false, // Curator
		hex + "__lock__": true, hex + "__rlock__": false, // Kazoo
		"__WRIT__": true, "__READ__": false, // Curator, without protection
	} {
		for _, layout := range []rwlock.Layout{rwlock.Curator, rwlock.Kazoo} {
			t.Run(fmt.Sprint(prefix, layout), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					m := rwlock.New(w.Client(), dir, &rwlock.Options{Layout: layout})
					w.unlock(w.get(m.Lock))
					other := w.enter(prefix)
					_, err := m.TryLock(w.Ctx)
					require.ErrorIs(w, err, rwlock.ErrBusy)
					writer := w.startTake(w.Ctx, m.Lock)
					w.pending(writer)
					if writes {
						_, err = m.TryRLock(w.Ctx)
						require.ErrorIs(w, err, rwlock.ErrBusy)
					}
					list, err := m.Contenders(w.Ctx)
					require.NoError(w, err)
					require.Equal(w, writes, list[0].Exclusive)
					require.True(w, list[0].Holds)
					require.NoError(w, w.Server.Delete(other))
					w.unlock(w.granted(writer))
				})
			})
		}
	}
}

// A reader of Curator 5.5.0 that was a writer: a name with the writer's number
// that the server did not append, for a moment beside the writer's.
func TestDowngradedReaderOfCuratorIsHonored(t *testing.T) {
	for _, name := range []string{"_c_01234567-95aa-485f-b2a5-02692629ab80-__READ__", "_c_f1234567-95aa-485f-b2a5-02692629ab80-__READ__"} {
		inWorld(t, nil, func(w *World) {
			m := w.new()
			w.unlock(w.get(m.Lock))
			theirs := w.enter("_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-__WRIT__")
			reader, writer := w.startTake(w.Ctx, w.new().RLock), w.startTake(w.Ctx, w.new().Lock)
			read := dir + "/" + name + theirs[len(theirs)-10:]
			require.NoError(w, w.Server.Create(read, nil))
			w.Settle()
			w.pending(reader, writer)
			list, err := m.Contenders(w.Ctx)
			require.NoError(w, err)
			for i, c := range list {
				require.Equal(w, i < 2, c.Holds, "%d: %s", i, c.Name)
			}
			require.NoError(w, w.Server.Delete(theirs))
			h := w.granted(reader)
			w.unlock(h)
			w.Pass(time.Minute)
			w.pending(writer)
			require.NoError(w, w.Server.Delete(read))
			w.unlock(w.granted(writer))
		})
	}
}

// The writer that a reader is about to watch goes between the listing and the
// watch, and so does the one before.
func TestWritersThatGoBeforeTheWatchIsSet_P20(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.unlock(w.get(w.new().Lock))
		var gone []string
		for range 3 {
			gone = append(gone, w.enter("x__WRIT__"))
		}
		w.Once(func(r zktest.Request) bool { return r.Op == "getData" && strings.HasPrefix(r.Path, dir+"/") }, func() {
			for _, path := range gone {
				if err := w.Server.Delete(path); err != nil {
					w.Error(err)
				}
			}
		})
		w.unlock(w.get(w.new().RLock))
	})
}

// The reader's znode has the ACL of the options, as the writer's has.
func TestDowngradeKeepsACLAndData(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		o := &rwlock.Options{Data: []byte("mine"), ACL: session.WorldACL(zk.PermAll &^ zk.PermAdmin)}
		h := w.get(rwlock.New(c, dir, o).Lock)
		r := w.down(h)
		acl, _, err := r.Session().ACL(w.Ctx, r.Path())
		require.NoError(w, err)
		require.Equal(w, o.ACL, acl)
		data, _, err := r.Session().Get(w.Ctx, r.Path())
		require.NoError(w, err)
		require.Equal(w, "mine", string(data))
		w.unlock(r)
	})
}

// A caller that changes its slices after New changes no contender.
func TestOptionsAreThoseOfTheCallOfNew(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &rwlock.Options{Data: []byte("then"), ACL: session.WorldACL(zk.PermAll)}
		m := rwlock.New(w.Client(), dir, o)
		copy(o.Data, "late")
		o.ACL[0].Perms = zk.PermRead
		h := w.get(m.Lock)
		node, err := w.Server.Get(h.Path())
		require.NoError(w, err)
		require.Equal(w, "then", string(node.Data))
		w.unlock(h)
	})
}

func TestWrongArgumentsAreErrorsOfTheFirstCall(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		for field, m := range map[string]*rwlock.RWMutex{
			"path": rwlock.New(c, "locks", nil), "path: ": rwlock.New(c, "", nil), "root": rwlock.New(c, "/", nil),
			"client": rwlock.New(nil, dir, nil), "Layout": rwlock.New(c, dir, &rwlock.Options{Layout: 7}),
		} {
			_, listErr := m.Contenders(w.Ctx)
			errs := []error{listErr, m.Do(w.Ctx, nil), m.RDo(w.Ctx, nil)}
			for _, f := range []take{m.Lock, m.RLock, m.TryLock, m.TryRLock} {
				_, err := f(context.Background())
				errs = append(errs, err)
			}
			for _, err := range errs {
				require.ErrorIs(w, err, rwlock.ErrInvalidArgument, field)
				require.ErrorContains(w, err, field)
			}
		}
		_, err := rwlock.New(c, "locks", nil).Lock(w.Ctx)
		require.True(w, errors.Is(err, session.ErrInvalidPath))
		require.Len(w, w.Server.Dump(), 1, "the root")
	})
}
