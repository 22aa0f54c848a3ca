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
					writer := w.begin(w.Ctx, m.Lock)
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
			reader, writer := w.begin(w.Ctx, w.new().RLock), w.begin(w.Ctx, w.new().Lock)
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

// PD1: children that are no contenders make no difference.
func TestForeignChildrenAreIgnored_PD1(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/locks", nil))
		require.NoError(w, w.Server.Create(dir, nil))
		strangers := []string{
			"config", "__READ__", "__WRIT__123", "_c_", "0000000000", "-0000000001", "READ-0000000000",
			"_c_1-lock-0000000000", "_c_1-lease-0000000000", "x_rlock__0000000000", "__WRIT__00000000x0",
			"__lock__+000000001", "__lock__9999999999", "__READ_0000000000",
		}
		for _, name := range strangers {
			require.NoError(w, w.Server.Create(dir+"/"+name, nil))
		}
		m := w.new()
		h := w.get(m.TryLock)
		list, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 1)
		out := w.begin(w.Ctx, w.new().RLock)
		w.unlock(h)
		w.unlock(w.granted(out))
		w.Settle()
		require.Len(w, w.Children(dir), len(strangers))
	})
}

// P18, PD8: numbers at the end of the counter have no order.
func TestExhaustedSequenceIsRefused_P18_PD8(t *testing.T) {
	for _, next := range []int32{2147483647, -2147483648, -1000000000, -999999999, -1} {
		inWorld(t, nil, func(w *World) {
			m := w.new()
			w.unlock(w.get(m.Lock))
			for _, f := range []take{m.Lock, m.RLock, m.TryLock, m.TryRLock} {
				require.NoError(w, w.Server.SetSequence(dir, next))
				_, err := f(w.Within(time.Minute))
				require.ErrorIs(w, err, session.ErrSequenceExhausted)
				w.Settle()
			}
			require.Empty(w, w.Children(dir), "and nothing stays")
			require.NoError(w, w.Server.Delete(dir)) // the way out that the error names
			w.unlock(w.get(m.Lock))
		})
	}
}

// CH12: somebody deletes the waiter's own node, at any time.
func TestWaiterWhoseNodeIsDeletedQueuesUpAgain_CH12(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 5 * time.Second} {
		for _, exclusive := range []bool{false, true} {
			inWorld(t, nil, func(w *World) {
				h := w.get(w.new().Lock)
				m := w.new()
				f := m.RLock
				if exclusive {
					f = m.Lock
				}
				out := w.begin(w.Ctx, f)
				w.Pass(after)
				own := w.others(h)
				require.Len(w, own, 1)
				require.NoError(w, w.Server.Delete(dir+"/"+own[0]))
				w.Pass(5 * time.Second)
				again := w.others(h)
				require.Len(w, again, 1)
				require.NotEqual(w, own, again)
				w.pending(out)
				w.unlock(h)
				w.unlock(w.granted(out))
				w.Pass(time.Second)
				require.Zero(w, w.Server.Stats().Watches)
			})
		}
	}
}

// CH12: it is deleted between its creation and the listing.
func TestNodeDeletedBeforeItIsListed_CH12(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			m := w.new()
			f := m.RLock
			if exclusive {
				f = m.Lock
			}
			w.unlock(w.get(m.Lock))
			w.Once(func(r zktest.Request) bool { return r.Op == "getChildren2" && r.Path == dir }, func() {
				for _, name := range w.Children(dir) {
					if err := w.Server.Delete(dir + "/" + name); err != nil {
						w.Error(err)
					}
				}
			})
			h, err := f(w.Within(time.Minute))
			require.NoError(w, err)
			w.Settle()
			if h.Context().Err() != nil {
				require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrNodeDeleted)
				h = w.get(f)
			}
			w.unlock(h)
		})
	}
}

// others are the names in the queue that are not h's.
func (w *World) others(h *rwlock.Held) []string {
	var out []string
	for _, name := range w.Children(dir) {
		if dir+"/"+name != h.Path() {
			out = append(out, name)
		}
	}
	return out
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

// The server deletes an empty container; the lock makes it again.
func TestContainerThatWasReapedIsMadeAgain(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *World) {
		m := w.new()
		last := int64(0)
		for range 3 {
			h := w.get(m.Lock)
			w.Pass(30 * time.Second)
			h = w.down(h)
			w.Pass(30 * time.Second)
			require.Greater(w, h.Token(), last, "the token grows although the numbers begin again")
			last = h.Token()
			require.NoError(w, h.Context().Err(), "not reaped while it is used")
			w.unlock(h)
			w.Pass(30 * time.Second)
			_, err := w.Server.Get(dir)
			require.ErrorIs(w, err, zktest.ErrNoNode)
		}
	})
}

func TestMissingRightsAreAnErrorAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}, ACL: session.CreatorACL()})
		m := rwlock.New(owner, dir, nil)
		h := w.get(m.Lock)
		stranger := w.new()
		for _, f := range []take{stranger.Lock, stranger.RLock, stranger.TryLock, stranger.TryRLock} {
			_, err := f(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoAuth)
		}
		_, err := stranger.Contenders(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.unlock(w.down(h))
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

// A contender that may create but not list must not stay in the queue.
func TestContenderThatMayNotListLeaves_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := w.Session(w.Client())
		require.NoError(w, s.EnsurePath(w.Ctx, dir, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermCreate | zk.PermDelete)}))
		m := w.new()
		for _, f := range []take{m.Lock, m.RLock} {
			_, err := f(w.Within(time.Minute))
			require.ErrorIs(w, err, session.ErrNoAuth)
			w.Settle()
			require.Empty(w, w.Children(dir))
		}
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

// A lock of Kazoo creates its path once: the path must not go while it is empty.
func TestPathOfKazooIsNoContainer(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(w *World) {
		w.unlock(w.get(rwlock.New(w.Client(), dir, &rwlock.Options{Layout: rwlock.Kazoo}).RLock))
		w.Pass(time.Minute)
		_, err := w.Server.Get(dir)
		require.NoError(w, err)
	})
}
