package queuetest

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// strangers are the scenarios of znodes that other programs create, change or delete.
func strangers() map[string]scenario {
	return map[string]scenario{
		"ForeignChildrenAreIgnored_PD1":                   foreignChildren,
		"PrefixesAndLayoutsDoNotChangeTheOrder_P19":       orderOfNumbers,
		"ExhaustedSequenceIsRefused_P18_PD8":              exhaustedSequence,
		"LastGoodNumbersAreGranted_P18":                   lastGoodNumbers,
		"NothingIsGrantedBesideAnExhaustedContender_P18":  besideExhausted,
		"WaiterWhoseNodeIsDeletedQueuesUpAgain_CH2_CH12":  waiterIsDeleted,
		"WaiterWhoseNodeWasDeletedLeavesNoWatch":          deletedWaiterLeavesNoWatch,
		"NodeOfAStrangerIsNotDeleted":                     strangersNodeStays,
		"NodeDeletedBeforeItIsListed_CH2_CH12":            deletedBeforeListed,
		"PredecessorThatGoesBeforeTheWatchIsSet_P20_CH26": predecessorGoes,
		"FolderDeletedWhileAllWait":                       folderIsDeleted,
		"FolderDeletedAgainAndAgain":                      folderIsDeletedAgain,
		"ContainerThatWasReapedIsMadeAgain":               reapedContainer,
		"FolderOfKazooIsNoContainer":                      kazoosFolder,
		"EphemeralParentIsRefused":                        ephemeralParent,
		"MissingRightsAreAnErrorAtOnce":                   missingRights,
		"ContenderThatMayNotListLeaves_P7_CH15":           mayNotList,
		"NodeThatMayNotBeLookedForGoesWhenItMay":          lookedForLater,
	}
}

// makeFolder creates the contenders' folder, as a stranger would.
func (s *scene) makeFolder() {
	s.Helper()
	for i, c := range s.Folder + "/" {
		if c == '/' && i > 0 {
			require.NoError(s, s.Server.Create(s.Folder[:i], nil))
		}
	}
}

// others are the paths of the contenders that are not h's.
func (s *scene) others(h Held) []string {
	s.Helper()
	var out []string
	for _, name := range s.contenders() {
		if p := s.Folder + "/" + name; p != h.Path() {
			out = append(out, p)
		}
	}
	return out
}

// Children that are no contenders make no difference.
func foreignChildren(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		s.makeFolder()
		for _, name := range s.Strangers {
			require.NoError(s, s.Server.Create(s.Folder+"/"+name, nil))
		}
		k := s.next()
		take := k.Acquire
		if k.Try != nil {
			take = k.Try
		}
		h := s.get(take)
		n, err := k.Count(s.Ctx)
		require.NoError(s, err)
		require.Equal(s, 1, n)
		out := s.begin(s.Ctx, s.next().Rival)
		s.pending(out)
		s.release(h)
		s.release(s.granted(out))
		s.Settle()
		require.Len(s, s.contenders(), len(s.Strangers))
	})
}

// The order is that of the numbers; prefixes are random, and all layouts are honored in
// one queue.
func orderOfNumbers(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		layouts := append([]func(*session.Client, string) Contender{s.New}, s.Layouts...)
		h := s.get(s.next().Rival)
		var outs []<-chan won
		for i := range 24 {
			outs = append(outs, s.begin(s.Ctx, layouts[i%len(layouts)](s.Client(), s.Path).Acquire))
		}
		for i, out := range outs {
			s.release(h)
			s.Settle()
			s.pending(outs[i+1:]...)
			h = s.granted(out)
		}
		s.release(h)
	})
}

// Numbers at the end of the counter have no order. Nothing is granted with them, whatever
// else is in the queue.
func exhaustedSequence(t *testing.T, tg Target) {
	for _, next := range []int32{2147483647, -2147483648, -2147483647, -2147483640, -1000000000, -999999999, -1} {
		t.Run(fmt.Sprint(next), func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				k := s.next()
				s.release(s.get(k.Acquire))
				for name, enter := range k.entering() {
					require.NoError(s, s.Server.SetSequence(s.Folder, next))
					require.ErrorIs(s, enter(s.Within(time.Minute)), session.ErrSequenceExhausted, name)
					s.Settle()
				}
				require.Empty(s, s.contenders(), "and nothing stays")
				// The way out that the error names.
				require.NoError(s, s.Server.Delete(s.Folder))
				s.release(s.get(k.Acquire))
			})
		})
	}
}

func lastGoodNumbers(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		s.release(s.get(k.Acquire))
		require.NoError(s, s.Server.SetSequence(s.Folder, 2147483645))
		for number := 2147483645; number < 2147483647; number++ {
			h := s.get(k.Acquire)
			require.True(s, strings.HasSuffix(h.Path(), fmt.Sprint(number)), h.Path())
			s.release(h)
		}
		_, err := k.Acquire(s.Within(time.Minute))
		require.ErrorIs(s, err, session.ErrSequenceExhausted)
	})
}

// A contender of another library with such a number may believe to be the first: not even
// the one with the lowest good number may be granted anything.
func besideExhausted(t *testing.T, tg Target) {
	for _, prefix := range tg.Prefixes {
		for _, number := range []string{"-2147483648", "-2147483640", "-000000005", "2147483647", "-999999999"} {
			t.Run(prefix+number, func(t *testing.T) {
				tg.in(t, nil, func(s *scene) {
					s.makeFolder()
					require.NoError(s, s.Server.Create(s.Folder+"/"+prefix+number, nil))
					_, err := s.next().Acquire(s.Within(time.Minute))
					require.ErrorIs(s, err, session.ErrSequenceExhausted)
					s.Settle()
					require.Equal(s, []string{prefix + number}, s.contenders())
				})
			})
		}
	}
}

// Somebody deletes the waiter's own znode, at any time.
func waiterIsDeleted(t *testing.T, tg Target) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 5 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				h := s.get(s.next().Rival)
				out := s.begin(s.Ctx, s.next().Acquire)
				s.Pass(after)
				own := s.others(h)
				require.Len(s, own, 1)
				require.NoError(s, s.Server.Delete(own[0]))
				s.Pass(5 * time.Second)
				again := s.others(h)
				require.Len(s, again, 1)
				require.NotEqual(s, own, again)
				s.pending(out)
				s.release(h)
				s.release(s.granted(out))
				s.Pass(time.Second)
				require.Zero(s, s.Server.Stats().Watches)
			})
		})
	}
}

// The waiter queues up again, and keeps no watch of before: none is left on the holder
// when it gives up.
func deletedWaiterLeavesNoWatch(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		c := s.Client()
		ctx, cancel := context.WithCancel(s.Ctx)
		out := s.begin(ctx, s.contender(c).Acquire)
		s.Pass(2 * time.Second)
		for _, path := range s.others(h) {
			require.NoError(s, s.Server.Delete(path))
		}
		s.Pass(2 * time.Second)
		s.pending(out)
		cancel()
		require.Error(s, s.outcome(out).err)
		s.Settle()
		require.NotContains(s, s.Server.Watches()[h.Path()], s.ID(c))
		s.release(h)
	})
}

// A znode that a stranger made under the name of a deleted contender stays: of one that
// waits, and of one that holds.
func strangersNodeStays(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		replace := func(path string) {
			s.Pass(time.Minute) // so that it is watched
			require.NoError(s, s.Server.Delete(path))
			require.NoError(s, s.Server.Create(path, nil))
			s.Settle()
		}
		h := s.get(s.next().Rival)
		out := s.begin(s.Ctx, s.next().Acquire)
		waits := s.others(h)[0]
		replace(waits)
		s.pending(out)
		require.Contains(s, s.contenders(), path.Base(waits))
		require.Len(s, s.contenders(), 3)
		require.NoError(s, s.Server.Delete(waits))
		s.release(h)

		next := s.granted(out)
		replace(next.Path())
		require.ErrorIs(s, next.Release(s.Ctx), session.ErrLost)
		s.Settle()
		require.Equal(s, []string{path.Base(next.Path())}, s.contenders())
	})
}

// The contender's znode is deleted between its creation and the listing.
func deletedBeforeListed(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		k := s.next()
		s.release(s.get(k.Acquire))
		s.Settle()
		s.Once(func(r zktest.Request) bool { return r.Op == "getChildren2" && r.Path == s.Folder }, func() {
			for _, name := range s.contenders() {
				if err := s.Server.Delete(s.Folder + "/" + name); err != nil {
					s.Error(err)
				}
			}
		})
		h, err := k.Acquire(s.Within(time.Minute))
		require.NoError(s, err)
		s.Settle()
		if h.Context().Err() != nil {
			require.ErrorIs(s, h.Release(s.Ctx), session.ErrNodeDeleted)
			h = s.get(k.Acquire)
		}
		s.release(h)
	})
}

// The predecessor goes between the listing and the watch.
func predecessorGoes(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		last := s.begin(s.Ctx, s.next().Rival)
		middle := s.others(h)
		require.Len(s, middle, 1)
		s.Once(func(r zktest.Request) bool { return r.Client == "c3" && r.Op == "getData" && r.Path == middle[0] }, func() {
			if err := s.Server.Delete(middle[0]); err != nil {
				s.Error(err)
			}
		})
		out := s.begin(s.Ctx, s.next().Acquire)
		s.Pass(time.Second)
		require.NotContains(s, s.contenders(), path.Base(middle[0]), "its successor was about to watch it")
		s.pending(out)
		s.release(h)
		s.release(s.granted(out))
		s.release(s.granted(last)) // it queued up again
	})
}

func folderIsDeleted(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		outs := []<-chan won{s.begin(s.Ctx, s.next().Acquire), s.begin(s.Ctx, s.next().Rival)}
		s.Pass(time.Minute)
		require.NoError(s, s.Server.DeleteAll(s.Path))
		s.ended(h)
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
	for _, when := range []string{"getChildren2", "create2"} {
		t.Run("at "+when, func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				s.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
				times := 0
				defer s.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Op == when && strings.HasPrefix(r.Path, s.Folder) {
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

// The answer to the creation is lost, and the folder may not be listed for a while: what
// cannot be found now is found, and deleted, as soon as that is allowed.
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
		s.Server.FailNth(func(r zktest.Request) bool { return r.Op == "create2" && strings.HasPrefix(r.Path, s.Folder+"/") }, 1,
			zktest.Action{Do: zktest.DropReplyCut})
		_, err := k.Acquire(s.Within(time.Minute))
		require.ErrorIs(s, err, session.ErrNoAuth)
		setACL(zk.PermAll)
		s.Pass(time.Minute)
		s.empty()
		s.release(s.get(s.contender(b).Acquire))
	})
}
