package contender_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	pause "github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const (
	roomPath = dir + ".waiting"
	limit    = 4
)

// crowdedSpec is spec with a queue of few.
func crowdedSpec() contender.Spec {
	sp := spec()
	sp.Room = contender.NewRoom(roomPath, limit)
	return sp
}

// places are the children of the room.
func (w *world) places() []string {
	names, err := w.srv.Children(roomPath)
	if err != nil {
		return nil
	}
	return names
}

// await enters and awaits the turn; the channel has the contender then, or nil after an
// error.
func (w *world) await(ctx context.Context, s *session.Session, sp contender.Spec) <-chan *contender.Contender {
	out := make(chan *contender.Contender, 1)
	// The bubble waits for it; it ends with ctx at the latest.
	go func() {
		c, err := contender.Enter(w.ctx, s, sp)
		if err == nil {
			if err = c.Await(ctx); err != nil {
				c.LeaveBehind()
				c = nil
			}
		}
		out <- c
	}()
	synctest.Wait()
	return out
}

// serveAll serves all contenders, in any order, and returns how many were granted.
func (w *world) serveAll(outs []<-chan *contender.Contender) (granted int) {
	all := make(chan *contender.Contender)
	for _, out := range outs {
		// Waited for below, where the value is received; it ends then.
		go func() { all <- <-out }()
	}
	for range outs {
		if c := <-all; c != nil {
			granted++
			require.NoError(w, c.Leave(w.ctx))
		}
	}
	synctest.Wait()
	return granted
}

// A hundred contenders of a queue for four: they are granted one after the other, in the
// order of their arrival, the queue stays short, and nothing is left.
func TestLongQueueWaitsInTheRoom(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 100
		outs := make([]<-chan *contender.Contender, n)
		for i := range outs {
			outs[i] = w.await(w.ctx, w.session(), crowdedSpec())
		}
		require.Len(w, w.places(), n-limit)
		for i := range outs {
			require.LessOrEqual(w, len(w.children()), limit+limit+limit/2, "%d", i)
			c := <-outs[i]
			if i+1 < n {
				require.Empty(w, outs[i+1], "one at a time")
			}
			require.NoError(w, c.Leave(w.ctx))
			synctest.Wait()
		}
		require.Empty(w, w.children())
		require.Empty(w, w.places())
	})
}

// Contenders that come while others wait in the room do not overtake them.
func TestRoomIsNotBypassed(t *testing.T) {
	inWorld(t, func(w *world) {
		var outs []<-chan *contender.Contender
		come := func() { outs = append(outs, w.await(w.ctx, w.session(), crowdedSpec())) }
		for range 5 * limit {
			come()
		}
		for i := range 10 * limit {
			come()
			c := <-outs[i]
			require.NoError(w, c.Leave(w.ctx))
			synctest.Wait()
		}
	})
}

// The place of a contender that gives up, that dies, or that an operator deletes keeps
// no contender waiting.
func TestEndedPlaceKeepsNoContenderWaiting(t *testing.T) {
	for name, end := range map[string]func(w *world, cancel context.CancelFunc, s *session.Session, place string){
		"gives up": func(_ *world, cancel context.CancelFunc, _ *session.Session, _ string) { cancel() },
		"dies": func(w *world, _ context.CancelFunc, s *session.Session, _ string) {
			require.NoError(w, w.srv.ExpireSession(s.ID()))
		},
		"is deleted": func(w *world, _ context.CancelFunc, _ *session.Session, place string) {
			require.NoError(w, w.srv.Delete(roomPath+"/"+place))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var first, last []<-chan *contender.Contender
				for range limit {
					first = append(first, w.await(w.ctx, w.session(), crowdedSpec()))
				}
				ctx, cancel := context.WithCancel(w.ctx)
				defer cancel()
				var middle []*session.Session
				for range 20 {
					middle = append(middle, w.session())
					last = append(last, w.await(ctx, middle[len(middle)-1], crowdedSpec()))
				}
				ending := w.places()
				for range 20 {
					last = append(last, w.await(w.ctx, w.session(), crowdedSpec()))
				}
				for i, s := range middle {
					end(w, cancel, s, ending[i])
				}
				time.Sleep(time.Minute)
				require.GreaterOrEqual(w, w.serveAll(append(first, last...)), limit+20)
				require.Empty(w, w.children())
				require.Empty(w, w.places())
			})
		})
	}
}

// The wait in the room ends with its context, and can be continued; a contender that leaves
// the room leaves nothing.
func TestWaitInTheRoomCanBeContinued(t *testing.T) {
	inWorld(t, func(w *world) {
		var outs []<-chan *contender.Contender
		for range 3 * limit {
			outs = append(outs, w.await(w.ctx, w.session(), crowdedSpec()))
		}
		c := w.enter(w.s, crowdedSpec())
		granted, err := c.Granted(w.ctx)
		require.NoError(w, err)
		require.False(w, granted)
		for range 3 {
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			require.ErrorIs(w, c.Await(ctx), context.DeadlineExceeded)
			cancel()
			require.True(w, strings.HasPrefix(c.Node().Path, roomPath+"/"))
		}
		for _, out := range outs {
			require.NoError(w, (<-out).Leave(w.ctx))
			synctest.Wait()
		}
		require.NoError(w, c.Await(w.ctx))
		require.True(w, strings.HasPrefix(c.Node().Path, dir+"/"))
		require.NoError(w, c.Leave(w.ctx))

		holder := w.enter(w.session(), spec())
		for range limit {
			w.await(w.ctx, w.session(), crowdedSpec())
		}
		c = w.enter(w.s, crowdedSpec())
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		require.ErrorIs(w, c.Await(ctx), context.DeadlineExceeded)
		places := len(w.places())
		require.NoError(w, c.Leave(w.ctx))
		require.Len(w, w.places(), places-1)
		require.NoError(w, holder.Leave(w.ctx))
	})
}

// A contender that has listed a long queue does not use that list when it comes back: here
// its new list is lost with the reply to the creation.
func TestListFromBeforeTheRoomIsForgotten(t *testing.T) {
	inWorld(t, func(w *world) {
		sp := crowdedSpec()
		require.NoError(w, w.enter(w.s, sp).Leave(w.ctx)) // the queue is known to be short
		var outs []<-chan *contender.Contender
		for range 3 * limit {
			outs = append(outs, w.await(w.ctx, w.session(), crowdedSpec()))
		}
		outs = append(outs, w.await(w.ctx, w.s, sp)) // it need not be the last that is granted
		cut := false
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session == w.s.ID() && r.Op == "create2" && strings.HasPrefix(r.Path, dir+"/") && !cut {
				cut = true
				return zktest.Action{Do: zktest.DropReplyCut}
			}
			return zktest.Action{}
		})
		require.Equal(w, 3*limit+1, w.serveAll(outs))
		require.True(w, cut)
		require.Empty(w, w.children())
	})
}

// A client that may not use the room stays in the queue.
func TestForbiddenRoomIsNotUsed(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, perms := range []int32{0, zk.PermRead, zk.PermWrite, zk.PermRead | zk.PermWrite} {
			o := &session.CreateOptions{ACL: session.WorldACL(perms)}
			require.NoError(w, w.s.EnsurePath(w.ctx, roomPath, session.Persistent, o))
			var outs []<-chan *contender.Contender
			for range 3 * limit {
				outs = append(outs, w.await(w.ctx, w.session(), crowdedSpec()))
			}
			require.Len(w, w.children(), 3*limit)
			for _, out := range outs {
				require.NoError(w, (<-out).Leave(w.ctx))
				synctest.Wait()
			}
			require.NoError(w, w.srv.Delete(roomPath))
		}
	})
}

// The room is deleted, by an operator or as an empty container, again and again.
func TestDeletedRoomIsMadeAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		var outs []<-chan *contender.Contender
		for range 10 * limit {
			outs = append(outs, w.await(w.ctx, w.session(), crowdedSpec()))
			_ = w.srv.Delete(roomPath) // fails while there are places
		}
		require.Equal(w, limit+1, w.serveAll(outs[:limit+1]))
		require.NoError(w, w.srv.DeleteAll(roomPath))
		// Those in the room are told; the others go on.
		time.Sleep(time.Minute)
		require.GreaterOrEqual(w, w.serveAll(outs[limit+1:]), limit)
		require.Empty(w, w.children())
	})
}

func TestListShowsThoseInTheRoom(t *testing.T) {
	inWorld(t, func(w *world) {
		var outs []<-chan *contender.Contender
		var data []string
		for i := range 3 * limit {
			sp := crowdedSpec()
			data = append(data, string(rune('a'+i)))
			sp.Data = []byte(data[i])
			outs = append(outs, w.await(w.ctx, w.session(), sp))
		}
		w.await(w.ctx, w.session(), crowdedSpec()) // stays to the end
		require.NoError(w, w.srv.Create(roomPath+"/stranger", []byte("x")))
		for i, out := range outs {
			c := <-out
			list, err := contender.List(w.ctx, w.s, dir, roomPath, []string{marker})
			require.NoError(w, err)
			require.Len(w, list, 3*limit-i+1)
			outside := 0
			for n, l := range list[:len(list)-1] {
				require.Equal(w, data[i+n], string(l.Node.Data))
				require.Equal(w, marker, l.Marker)
				if l.Outside {
					outside++
				}
			}
			require.LessOrEqual(w, len(list)-1-outside, limit+limit/2+limit)
			require.NoError(w, c.Leave(w.ctx))
			synctest.Wait()
		}
	})
}

// A client that comes back within a heartbeat period lists the queue at once, if the queue was
// short: that saves a round trip. A client that comes back later asks for the length first:
// the queue may have become long, for many such clients at the same moment.
func TestShortQueueIsRememberedForAHeartbeatPeriod(t *testing.T) {
	inWorld(t, func(w *world) {
		sp, last := crowdedSpec(), w.s
		enter := func() map[string]int {
			w.srv.ResetStats()
			require.NoError(w, w.enter(last, sp).Leave(w.ctx))
			out := w.requestsOf(last)
			delete(out, "delete")
			return out
		}
		require.NoError(w, w.enter(w.s, spec()).Leave(w.ctx)) // makes the path
		asks, lists := map[string]int{"create2": 1, "getData": 1}, map[string]int{"create2": 1, "getChildren2": 1}
		require.Equal(w, asks, enter())
		require.Equal(w, lists, enter())
		time.Sleep(w.s.Heartbeat() - 1)
		require.Equal(w, lists, enter())
		for range 3 * limit {
			w.await(w.ctx, w.session(), crowdedSpec())
		}
		time.Sleep(w.s.Heartbeat())
		require.Equal(w, asks, enter())
	})
}

// The bytes sent to n contenders that come at once grow with n, not with its square: also if
// they have used the queue before, a while ago.
func TestManyContendersAtOnceReadLittle(t *testing.T) {
	for _, warm := range []bool{false, true} {
		inWorld(t, func(w *world) {
			sent := map[int]int64{}
			for _, n := range []int{100, 200, 400} {
				sent[n] = w.bytesForEach(n, warm)
			}
			w.Log("bytes for each of n contenders:", sent, "warm:", warm)
			// Without the room, each reads 6,400 bytes with 100 contenders, and 23,200 with 400.
			// With it the figure depends on how many enter before the first has seen the crowd.
			require.Less(w, sent[400], int64(23_200/2))
		})
	}
}

// bytesForEach is how many bytes are sent to each of n contenders that come at once, and have
// their turns.
func (w *world) bytesForEach(n int, warm bool) int64 {
	outs := make(chan *contender.Contender, n)
	sessions, specs := make([]*session.Session, n), make([]contender.Spec, n)
	for i := range sessions {
		sessions[i], specs[i] = w.session(), crowdedSpec()
		if warm {
			require.NoError(w, w.enter(sessions[i], specs[i]).Leave(w.ctx))
		}
	}
	pause.Pause(w.s.Heartbeat())
	holder := w.enter(w.s, spec())
	w.srv.ResetStats()
	for i, s := range sessions {
		// The bubble waits for it; it ends with its turn.
		go func() {
			c, err := contender.Enter(w.ctx, s, specs[i])
			if err == nil {
				err = c.Await(w.ctx)
			}
			if err != nil {
				w.Error(err)
			}
			outs <- c
		}()
	}
	synctest.Wait()
	require.NoError(w, holder.Leave(w.ctx))
	for range n {
		require.NoError(w, (<-outs).Leave(w.ctx))
	}
	return w.srv.Stats().BytesSent / int64(n)
}
