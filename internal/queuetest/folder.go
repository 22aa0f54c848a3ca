package queuetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func folderIsDeleted(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		outs := []<-chan won{s.startAcquire(s.Ctx, s.next().Acquire), s.startAcquire(s.Ctx, s.next().Rival)}
		s.Pass(time.Minute)
		require.NoError(s, s.Server.DeleteAll(s.Path))
		s.awaitEnd(h)
		require.ErrorIs(s, context.Cause(h.Context()), session.ErrNodeDeleted)
		// One of them is granted, in a queue made again, and then the other.
		for len(outs) > 0 {
			var next Held
			next, outs = s.oneGranted(outs)
			require.Greater(s, next.Token(), h.Token())
			s.release(next)
		}
	})
}

// A stranger that deletes the contenders' folder as soon as the folder exists makes them
// try again, but not as fast as the network can.
func folderIsDeletedAgain(t *testing.T, tg Target) {
	for name, when := range map[string]func(r zktest.Request) bool{
		"the read":     func(r zktest.Request) bool { return r.Op == "getChildren2" || r.Op == "getData" },
		"the creation": func(r zktest.Request) bool { return creates(r) && r.Path != tg.folder() },
	} {
		t.Run("at "+name, func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				s.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
				times := 0
				defer s.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if when(r) && strings.HasPrefix(r.Path, s.Folder) {
						times++
						for _, child := range s.contenders() {
							_ = s.Server.Delete(s.Folder + "/" + child)
						}
						_ = s.Server.Delete(s.Folder)
					}
					return zktest.Action{}
				})()
				_, err := s.next().Acquire(s.Within(30 * time.Second))
				require.ErrorIs(s, err, context.DeadlineExceeded)
				require.Greater(s, times, 5)
				require.Less(s, times, 60)
			})
		})
	}
}

// The server deletes an empty container; the contenders make it again.
func reapedContainer(t *testing.T, tg Target) {
	world.Needs(t, world.Containers)
	tg.in(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(s *scene) {
		k := s.next()
		last := int64(0)
		for range 5 {
			h := s.get(k.Acquire)
			require.Greater(s, h.Token(), last, "the token grows although the numbers begin again")
			last = h.Token()
			s.Pass(time.Minute)
			require.NoError(s, h.Context().Err(), "not reaped while it is used")
			s.release(h)
			s.Pass(30 * time.Second)
			_, err := s.Server.Get(s.Folder)
			require.ErrorIs(s, err, zktest.ErrNoNode)
		}
	})
}

// A recipe of Kazoo creates its path once: the path must not go while it is empty.
func kazoosFolder(t *testing.T, tg Target) {
	tg.in(t, &zktest.Options{ContainerInterval: 10 * time.Second}, func(s *scene) {
		kazoo := s.Layouts[len(s.Layouts)-1](s.Client(), s.Path)
		s.release(s.get(kazoo.Acquire))
		s.Pass(time.Minute)
		_, err := s.Server.Get(s.Folder)
		require.NoError(s, err)
	})
}

func ephemeralParent(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		c := s.Client()
		_, err := s.Session(c).Create(s.Ctx, "/e", nil, session.Ephemeral, nil)
		require.NoError(s, err)
		for _, path := range []string{"/e", "/e/queue"} {
			for name, enter := range s.at(c, path).entering() {
				require.ErrorIs(s, enter(s.Within(time.Minute)), session.ErrNoChildrenForEphemerals, name)
			}
		}
	})
}

func missingRights(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		owner := s.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("me", "secret")}, ACL: session.CreatorACL()})
		k := s.contender(owner)
		h := s.get(k.Acquire)
		stranger := s.next()
		for name, call := range stranger.calling() {
			require.ErrorIs(s, call(s.Within(time.Minute)), session.ErrNoAuth, name)
		}
		_, err := stranger.Acquire(s.Within(time.Minute))
		require.ErrorContains(s, err, s.Says+" "+s.Path)
		s.release(h)
		s.release(s.get(k.Acquire))
	})
}

// A contender that may create but not list must not stay in the queue.
func mayNotList(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		o := &session.CreateOptions{ACL: session.WorldACL(zk.PermCreate | zk.PermDelete)}
		require.NoError(s, s.Session(s.Client()).EnsurePath(s.Ctx, s.Folder, session.Persistent, o))
		for name, acquire := range s.next().acquiring() {
			_, err := acquire(s.Within(time.Minute))
			require.ErrorIs(s, err, session.ErrNoAuth, name)
			s.Settle()
			require.Empty(s, s.contenders(), name)
		}
	})
}

// The answer to the creation is lost, and the folder may not be listed for a while: the
// znode is found, and deleted, as soon as listing is allowed.
func lookedForLater(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		a, b := s.Client(), s.Client()
		k := s.contender(a)
		s.release(s.get(k.Acquire))
		setACL := func(perms int32) {
			_, err := s.Session(b).SetACL(s.Ctx, s.Folder, session.WorldACL(perms), -1)
			require.NoError(s, err)
		}
		setACL(zk.PermAll &^ zk.PermRead)
		s.Server.FailNth(func(r zktest.Request) bool { return creates(r) && strings.HasPrefix(r.Path, s.Folder+"/") }, 1,
			zktest.Action{Do: zktest.DropReplyCut})
		_, err := k.Acquire(s.Within(time.Minute))
		require.ErrorIs(s, err, session.ErrNoAuth)
		setACL(zk.PermAll)
		s.Pass(time.Minute)
		s.empty()
		s.release(s.get(s.contender(b).Acquire))
	})
}
