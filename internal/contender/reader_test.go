package contender_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func sharedSpec(marker string) contender.Spec {
	return contender.Spec{
		Dir: dir, Name: func() string { return znode.Protected(marker) }, Markers: []string{reads, writes},
		Rule: sharedRule(znode.Entry{Marker: marker}),
	}
}

// readerBehind lets a reader wait behind several writers. readerBehind runs in a
// bubble.
func (w *world) readerBehind(writers int) (ahead []*contender.Contender, s *session.Session, out chan error) {
	for range writers {
		ahead = append(ahead, w.enter(w.s, sharedSpec(writes)))
	}
	s = w.session()
	c := w.enter(s, sharedSpec(reads))
	out = make(chan error, 1)
	// Waited for by the test; ends when no writer is ahead.
	go func() { out <- c.Await(w.ctx) }()
	time.Sleep(time.Minute)
	synctest.Wait()
	w.srv.ResetStats()
	return ahead, s, out
}

// requestsOf counts the requests of s since the last reset, by operation.
func (w *world) requestsOf(s *session.Session) map[string]int {
	synctest.Wait()
	out := map[string]int{}
	for op, n := range w.srv.Stats().BySession[s.ID()] {
		if op != "ping" {
			out[op] = n
		}
	}
	return out
}

func TestReaderGoesOnToTheWriterBeforeWithoutAListing(t *testing.T) {
	inWorld(t, func(w *world) {
		ahead, s, out := w.readerBehind(4)
		for i := 3; i > 0; i-- { // each gives up
			require.NoError(w, ahead[i].Leave(w.ctx))
			require.Equal(w, map[string]int{"getData": 1}, w.requestsOf(s), "a watch on the writer before")
			w.srv.ResetStats()
		}
		require.NoError(w, ahead[0].Leave(w.ctx))
		require.NoError(w, <-out)
		require.Empty(w, w.requestsOf(s))
	})
}

// The writers left in their order: the reader's listing is old, and the reader does
// not ask for each writer.
func TestReaderListsWhenTheWriterBeforeHadGoneAsWell(t *testing.T) {
	inWorld(t, func(w *world) {
		ahead, s, out := w.readerBehind(20)
		for _, c := range ahead {
			require.NoError(w, c.Leave(w.ctx))
		}
		require.NoError(w, <-out)
		require.Equal(w, map[string]int{"getData": 1, "getChildren2": 1}, w.requestsOf(s))
	})
}

func TestReaderThatKnowsTwoWritersAsksForOne(t *testing.T) {
	inWorld(t, func(w *world) {
		ahead, s, out := w.readerBehind(2)
		require.NoError(w, ahead[0].Leave(w.ctx))
		require.Empty(w, w.requestsOf(s))
		require.NoError(w, ahead[1].Leave(w.ctx))
		require.NoError(w, <-out)
		require.Equal(w, map[string]int{"getData": 1}, w.requestsOf(s))
	})
}

// After a reconnect the reader relies on no earlier listing.
func TestReaderListsAfterAReconnect(t *testing.T) {
	inWorld(t, func(w *world) {
		ahead, s, out := w.readerBehind(2)
		w.srv.CutAll()
		time.Sleep(5 * time.Second)
		require.Positive(w, w.requestsOf(s)["getChildren2"])
		require.NoError(w, ahead[1].Leave(w.ctx))
		require.NoError(w, ahead[0].Leave(w.ctx))
		require.NoError(w, <-out)
	})
}

func TestListReadsContendersInTheirOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		list, err := contender.List(w.ctx, w.s, dir, "", []string{marker})
		require.NoError(w, err)
		require.Empty(w, list, "there is no path yet")
		first, second := w.enter(w.s, spec()), w.enter(w.session(), spec())
		require.NoError(w, w.srv.Create(dir+"/stranger", nil))
		list, err = contender.List(w.ctx, w.s, dir, "", []string{marker})
		require.NoError(w, err)
		require.Len(w, list, 2)
		for i, c := range []*contender.Contender{first, second} {
			require.Equal(w, c.Node().Path, list[i].Node.Path)
			require.Equal(w, znode.Base(c.Node().Path), list[i].Name)
			require.Equal(w, "me", string(list[i].Node.Data))
			require.Equal(w, c.Session().ID(), list[i].Node.Stat.EphemeralOwner)
		}
		over, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err = contender.List(over, w.s, dir, "", []string{marker})
		require.ErrorIs(w, err, context.Canceled)
	})
}

func TestListLeavesOutAContenderThatLeavesMeanwhile(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.enter(w.s, spec()), w.enter(w.s, spec())
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" && r.Path == first.Node().Path {
				_ = w.srv.Delete(first.Node().Path)
			}
			return zktest.Action{}
		})
		list, err := contender.List(w.ctx, w.s, dir, "", []string{marker})
		require.NoError(w, err)
		require.Len(w, list, 1)
		require.Equal(w, second.Node().Path, list[0].Node.Path)
	})
}

// A writer that becomes a reader between listing and reading has another node: the
// queue must not seem to be without a holder.
func TestListShowsAContenderThatArrivesMeanwhile(t *testing.T) {
	inWorld(t, func(w *world) {
		first := w.enter(w.s, spec()).Node().Path
		second := first[:len(first)-10] + "x" + marker + "0000000000"
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" && r.Path == first {
				_ = w.srv.Delete(first)
				_ = w.srv.Create(second, nil)
			}
			return zktest.Action{}
		})
		list, err := contender.List(w.ctx, w.s, dir, "", []string{marker})
		require.NoError(w, err)
		require.Len(w, list, 1)
		require.Equal(w, second, list[0].Node.Path)
	})
}

// Contenders that come and go all the time do not block a listing indefinitely.
func TestListOfAQueueInMotionEnds(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.s, spec())
		n := 0
		w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op == "getData" {
				n++
				_ = w.srv.Delete(r.Path)
				_ = w.srv.Create(fmt.Sprintf("%s/x%s%010d", dir, marker, n), nil)
			}
			return zktest.Action{}
		})
		_, err := contender.List(w.ctx, w.s, dir, "", []string{marker})
		require.NoError(w, err)
		require.LessOrEqual(w, n, 4)
	})
}

// A cut between listing and reading costs no contender its place in the list.
func TestListSurvivesACut(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.s, spec())
		w.enter(w.s, spec())
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "getData" }, 1, zktest.Action{Do: zktest.CutBefore})
		list, err := contender.List(w.ctx, w.s, dir, "", []string{marker})
		require.NoError(w, err)
		require.Len(w, list, 2)
	})
}
