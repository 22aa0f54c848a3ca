package contender_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/queue"

type world struct {
	*testing.T
	srv *zktest.Server
	ctx context.Context
	s   *session.Session
}

// inWorld runs body in a bubble with a server and a session.
func inWorld(t *testing.T, body func(w *world)) { t.Helper(); inWorldOf(t, zktest.Options{}, body) }

func inWorldOf(t *testing.T, o zktest.Options, body func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.InMemory = true
		srv, err := zktest.Start(&o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		t.Cleanup(cancel)
		w := &world{T: t, srv: srv, ctx: ctx}
		w.s = w.session()
		body(w)
	})
}

func (w *world) session() *session.Session {
	c, err := session.Connect(w.ctx, w.srv.Addr(), &session.Options{Dialer: w.srv.Dial})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, c.Close(context.Background())) })
	s, err := c.Session(w.ctx)
	require.NoError(w, err)
	return s
}

func spec() contender.Spec {
	return contender.Spec{
		Dir: dir, Name: func() string { return znode.Protected(marker) }, Markers: []string{marker},
		Data: []byte("me"), Rule: contender.Exclusive,
	}
}

func (w *world) enter(s *session.Session, sp contender.Spec) *contender.Contender {
	c, err := contender.Enter(w.ctx, s, sp)
	require.NoError(w, err)
	return c
}

func (w *world) children() []string {
	names, err := w.srv.Children(dir)
	if err != nil {
		return nil
	}
	return names
}

func TestEnterMakesTheQueueAContainer(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.enter(w.s, spec())
		node, err := w.srv.Get(dir)
		require.NoError(w, err)
		require.True(w, node.Container)
		own, err := w.srv.Get(c.Node().Path)
		require.NoError(w, err)
		require.Equal(w, "me", string(own.Data))
		require.Equal(w, w.s.ID(), own.EphemeralOwner)
	})
}

func TestEnterReadsTheQueuesDataOnlyIfAsked(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, w.srv.Create(dir, []byte("what it says")))
		_, ok := w.enter(w.s, spec()).DirData()
		require.False(w, ok)
		sp := spec()
		sp.ReadDir = true
		data, ok := w.enter(w.s, sp).DirData()
		require.True(w, ok)
		require.Equal(w, "what it says", string(data))
	})
}

// The listing of Enter saves a request, and proves nothing later on.
func TestListingOfEnterGrantsNothingOnceItIsOld(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, late := range []bool{false, true} {
			c := w.enter(w.s, spec())
			if late {
				time.Sleep(w.s.Heartbeat())
				require.NoError(w, w.srv.Delete(c.Node().Path))
			}
			w.srv.ResetStats()
			err := c.Await(w.ctx)
			if late {
				require.ErrorIs(w, err, contender.ErrGone)
			} else {
				require.NoError(w, err)
				require.Zero(w, w.srv.Stats().BySession[w.s.ID()]["getChildren2"])
			}
			require.NoError(w, c.Leave(w.ctx))
		}
	})
}

// A contender that loses the connection with each new watch does not ask as fast as
// the network can.
func TestWatchesThatCostTheConnectionAreNotRepeatedWithoutPause(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.enter(w.s, spec()), w.enter(w.session(), spec())
		cuts := 0
		heal := w.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op != "getData" || cuts == 1000 {
				return zktest.Action{}
			}
			cuts++
			return zktest.Action{Do: zktest.CutBefore}
		})
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		require.ErrorIs(w, second.Await(ctx), context.DeadlineExceeded)
		require.Less(w, cuts, 100)
		require.Greater(w, cuts, 10)
		heal()
		require.NoError(w, first.Leave(w.ctx))
		require.NoError(w, second.Await(w.ctx))
		require.NoError(w, second.Leave(w.ctx))
	})
}

func TestAwaitEndsWhenThePredecessorGoesAndCanBeCalledAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.enter(w.s, spec()), w.enter(w.session(), spec())
		require.NoError(w, first.Await(w.ctx))
		granted, err := second.Granted(w.ctx)
		require.NoError(w, err)
		require.False(w, granted)
		for range 3 {
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			require.ErrorIs(w, second.Await(ctx), context.DeadlineExceeded)
			cancel()
		}
		require.Len(w, w.children(), 2, "the place stays")
		require.NoError(w, first.Leave(w.ctx))
		require.NoError(w, second.Await(w.ctx))
		hold, err := second.Hold(w.ctx)
		require.NoError(w, err)
		require.NoError(w, hold.Err())
		require.Equal(w, second.Node().Path, hold.Path())
		require.NoError(w, second.Leave(w.ctx))
		synctest.Wait()
		require.Zero(w, w.srv.Stats().Watches)
	})
}

func TestAwaitFailsWhenTheOwnNodeGoes(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second} {
		inWorld(t, func(w *world) {
			w.enter(w.s, spec())
			second := w.enter(w.session(), spec())
			out := make(chan error, 1)
			// Waited for below; ends when its node goes.
			go func() { out <- second.Await(w.ctx) }()
			time.Sleep(after)
			synctest.Wait()
			require.NoError(w, w.srv.Delete(second.Node().Path))
			require.ErrorIs(w, <-out, contender.ErrGone)
		})
	}
}

// The own node is deleted right behind the predecessor: no grant follows, or a
// grant that ends at once.
func TestNodeThatGoesTogetherWithThePredecessorIsNoGrant(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		inWorld(t, func(w *world) { goTogether(w, trusted) })
	}
}

// goTogether runs in a bubble. A trusted session need not ask before a hold.
func goTogether(w *world, trusted bool) {
	s := w.session()
	if trusted {
		sp := spec()
		sp.Dir = "/other"
		other := w.enter(s, sp)
		_, err := other.Hold(w.ctx)
		require.NoError(w, err)
	}
	first, second := w.enter(w.s, spec()), w.enter(s, spec())
	var hold *session.Hold
	var err error
	over := make(chan struct{})
	// Waited for below; ends when the predecessor goes.
	go func() {
		defer close(over)
		if err = second.Await(w.ctx); err == nil {
			hold, err = second.Hold(w.ctx)
		}
	}()
	time.Sleep(10 * time.Second) // both are watched
	synctest.Wait()
	require.NoError(w, w.srv.Delete(first.Node().Path))
	require.NoError(w, w.srv.Delete(second.Node().Path))
	<-over
	if err != nil {
		require.ErrorIs(w, err, contender.ErrGone)
		return
	}
	synctest.Wait()
	require.ErrorIs(w, hold.Err(), session.ErrNodeDeleted)
}

func TestAwaitFailsWhenTheSessionIsLost(t *testing.T) {
	inWorld(t, func(w *world) {
		w.enter(w.session(), spec())
		second := w.enter(w.s, spec())
		out := make(chan error, 1)
		// Waited for below; ends with the session.
		go func() { out <- second.Await(w.ctx) }()
		synctest.Wait()
		require.NoError(w, w.srv.ExpireSession(w.s.ID()))
		err := <-out
		require.Error(w, err)
		require.Len(w, w.children(), 1)
	})
}

// After a reconnect the waiter lists again, and sees all changes since.
func TestAwaitLooksAgainAfterAReconnect(t *testing.T) {
	inWorld(t, func(w *world) {
		first, second := w.enter(w.s, spec()), w.enter(w.session(), spec())
		out := make(chan error, 1)
		// Waited for below; ends when the predecessor has gone.
		go func() { out <- second.Await(w.ctx) }()
		for range 5 {
			time.Sleep(3 * time.Second)
			w.srv.CutAll()
		}
		require.NoError(w, first.Leave(w.ctx))
		require.NoError(w, <-out)
	})
}

func TestQueueWithNumbersWithoutOrderGrantsNothing_P18(t *testing.T) {
	inWorld(t, func(w *world) {
		first := w.enter(w.s, spec())
		require.NoError(w, w.srv.Create(dir+"/x"+marker+"-999999999", nil))
		require.NoError(w, first.Await(w.ctx), "the contender was first before the foreign node came")
		_, err := first.Granted(w.ctx)
		require.ErrorIs(w, err, session.ErrSequenceExhausted)
	})
}
