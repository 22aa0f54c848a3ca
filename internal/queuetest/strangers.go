package queuetest

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
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

// otherPaths are the paths of the contenders that are not h's.
func (s *scene) otherPaths(h Held) []string {
	s.Helper()
	var out []string
	for _, name := range s.contenders() {
		if p := s.Folder + "/" + name; p != h.Path() {
			out = append(out, p)
		}
	}
	return out
}

// Children that are not contenders make no difference.
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
		out := s.startAcquire(s.Ctx, s.next().Rival)
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
			outs = append(outs, s.startAcquire(s.Ctx, layouts[i%len(layouts)](s.Client(), s.Path).Acquire))
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

// Another client deletes the waiter's own znode, at any time.
func waiterIsDeleted(t *testing.T, tg Target) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 5 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				h := s.get(s.next().Rival)
				out := s.startAcquire(s.Ctx, s.next().Acquire)
				s.Pass(after)
				own := s.otherPaths(h)
				require.Len(s, own, 1)
				require.NoError(s, s.Server.Delete(own[0]))
				s.Pass(5 * time.Second)
				again := s.otherPaths(h)
				require.Len(s, again, 1)
				require.NotEqual(s, own, again)
				s.pending(out)
				s.release(h)
				s.release(s.granted(out))
				s.Pass(time.Second)
				s.RequireNoWatches()
			})
		})
	}
}

// The waiter queues up again, and keeps no watch of before: none is left on the holder
// when it gives up.
func deletedWaiterLeavesNoWatch(t *testing.T, tg Target) {
	world.Needs(t, world.RemovesWatches)
	tg.in(t, nil, func(s *scene) {
		h := s.get(s.next().Rival)
		c := s.Client()
		ctx, cancel := context.WithCancel(s.Ctx)
		out := s.startAcquire(ctx, s.contender(c).Acquire)
		s.Pass(2 * time.Second)
		for _, path := range s.otherPaths(h) {
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
		out := s.startAcquire(s.Ctx, s.next().Acquire)
		waits := s.otherPaths(h)[0]
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
		last := s.startAcquire(s.Ctx, s.next().Rival)
		middle := s.otherPaths(h)
		require.Len(s, middle, 1)
		s.Once(func(r zktest.Request) bool { return r.Client == "c3" && r.Op == "getData" && r.Path == middle[0] }, func() {
			if err := s.Server.Delete(middle[0]); err != nil {
				s.Error(err)
			}
		})
		out := s.startAcquire(s.Ctx, s.next().Acquire)
		s.Pass(time.Second)
		require.NotContains(s, s.contenders(), path.Base(middle[0]), "its successor was about to watch it")
		s.pending(out)
		s.release(h)
		s.release(s.granted(out))
		s.release(s.granted(last)) // it queued up again
	})
}
