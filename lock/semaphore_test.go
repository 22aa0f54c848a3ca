package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// semaphoreLayouts returns the options of both forms of a semaphore.
func semaphoreLayouts() map[string]*lock.Options {
	return map[string]*lock.Options{"rank": nil, "Curator": {CuratorV2: true}}
}

// leaseNames lists the nodes of permits.
func (w *World) leaseNames(o *lock.Options) []string {
	if o != nil && o.CuratorV2 {
		return w.Children(dir + "/leases")
	}
	return w.Children(dir)
}

// inBoth runs body in a bubble for each layout.
func inBoth(t *testing.T, body func(w *World, o *lock.Options)) {
	for name, o := range semaphoreLayouts() {
		t.Run(name, func(t *testing.T) { inWorld(t, nil, func(w *World) { body(w, o) }) })
	}
}

func (w *World) startAcquire(ctx context.Context, s *lock.Semaphore, n int) <-chan *lock.Permits {
	out := make(chan *lock.Permits, 1)
	// The bubble waits for the goroutine, which ends with ctx at the latest.
	go func() {
		p, err := s.Acquire(ctx, n)
		if err != nil {
			p = nil
		}
		out <- p
	}()
	w.Settle()
	return out
}

func TestPermitsAreGivenOutUpToTheirNumber(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		a := lock.NewSemaphore(w.Client(), dir, 3, o)
		b := lock.NewSemaphore(w.Client(), dir, 3, o)
		one, two := w.acquire(a, 1), w.acquire(b, 2)
		require.Equal(w, 2, two.Count())
		require.Greater(w, two.Token(), one.Token())
		_, err := a.TryAcquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrBusy)
		out := w.startAcquire(w.Ctx, a, 2)
		require.NoError(w, one.Release(w.Ctx))
		w.Settle()
		require.Empty(w, out, "a single permit is not enough")
		require.NoError(w, two.Release(w.Ctx))
		p := <-out
		require.NotNil(w, p)
		require.ErrorIs(w, context.Cause(two.Context()), session.ErrReleased)
		require.ErrorIs(w, two.Release(w.Ctx), lock.ErrNotHeld)
		require.NoError(w, p.Release(w.Ctx))
		w.Settle()
		require.Empty(w, w.leaseNames(o))
	})
}

// P16, CH18, CH19: many tries of many processes never get more permits than exist,
// and find freed permits.
func TestTriesNeverGetMoreThanThereIs_P16(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		const total = 5
		var taken, most, granted atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			s := lock.NewSemaphore(w.Client(), dir, total, o)
			for range 3 {
				// Waited for below; ends after its rounds.
				all.Go(func() {
					for range 25 {
						n := 1 + rand.IntN(total)
						p, err := s.TryAcquire(w.Ctx, n)
						if err != nil {
							world.SleepContext(w.Ctx, time.Millisecond)
							continue
						}
						granted.Add(1)
						if now := taken.Add(int64(n)); now > most.Load() {
							most.Store(now)
						}
						world.SleepContext(w.Ctx, time.Duration(rand.IntN(20))*time.Millisecond)
						taken.Add(int64(-n))
						if err := p.Release(w.Ctx); err != nil {
							w.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		require.LessOrEqual(w, most.Load(), int64(total))
		require.Positive(w, granted.Load())
		require.NoError(w, w.acquire(lock.NewSemaphore(w.Client(), dir, total, o), total).Release(w.Ctx))
	})
}

// A contender for several permits at once neither deadlocks nor starves, whatever the
// other contenders want.
func TestSeveralAtOnceCannotDeadlock(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		const total = 4
		var all sync.WaitGroup
		for i := range 5 {
			s := lock.NewSemaphore(w.Client(), dir, total, o)
			for j := range 2 {
				// Waited for below; ends after its rounds.
				all.Go(func() {
					for k := range 10 {
						p, err := s.Acquire(w.Within(10*time.Minute), 1+(i+j+k)%total)
						if err != nil {
							w.Errorf("%d %d: %v", i, j, err)
							return
						}
						world.SleepContext(w.Ctx, time.Millisecond)
						_ = p.Release(w.Ctx)
					}
				})
			}
		}
		all.Wait()
		w.Settle()
		require.Empty(w, w.leaseNames(o))
	})
}

func TestLargeRequestIsNotStarvedBySmallOnes(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		small := lock.NewSemaphore(w.Client(), dir, 3, o)
		held := []*lock.Permits{w.acquire(small, 1), w.acquire(small, 1)}
		large := w.startAcquire(w.Ctx, lock.NewSemaphore(w.Client(), dir, 3, o), 3)
		later := w.startAcquire(w.Ctx, small, 1)
		w.Pass(time.Minute)
		require.Empty(w, later, "the request would fit, but came later")
		for _, p := range held {
			require.NoError(w, p.Release(w.Ctx))
		}
		p := <-large
		require.NotNil(w, p)
		w.Settle()
		require.Empty(w, later)
		require.NoError(w, p.Release(w.Ctx))
		p = <-later
		require.NotNil(w, p)
		require.NoError(w, p.Release(w.Ctx))
	})
}

// CH18: a waiter that gives up leaves a single lease, the holder's.
func TestWaiterThatGivesUpLeavesNoLease_CH18(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		p := w.acquire(lock.NewSemaphore(w.Client(), dir, 1, o), 1)
		s := lock.NewSemaphore(w.Client(), dir, 1, o)
		for range 5 {
			_, err := s.Acquire(w.Within(time.Second), 1)
			require.ErrorIs(w, err, context.DeadlineExceeded)
			w.Settle()
			require.Len(w, w.leaseNames(o), 1)
		}
		require.NoError(w, p.Release(w.Ctx))
		require.NoError(w, w.acquire(s, 1).Release(w.Ctx))
	})
}

func TestSemaphoreRefusesWhatCanNeverBe(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		c := w.Client()
		beyond := int64(math.MaxInt32) + 1
		for _, n := range []int{0, -1, int(beyond), int(2 * beyond)} {
			_, err := lock.NewSemaphore(c, dir, n, o).Acquire(w.Ctx, max(1, n))
			require.ErrorIs(w, err, lock.ErrPermits, "a name cannot hold so large a number")
			require.ErrorIs(w, err, lock.ErrInvalidArgument)
		}
		s := lock.NewSemaphore(c, dir, 3, o)
		for _, n := range []int{0, -1, 4} {
			_, err := s.Acquire(w.Ctx, n)
			require.ErrorIs(w, err, lock.ErrPermits)
			require.ErrorIs(w, err, lock.ErrInvalidArgument)
			_, err = s.TryAcquire(w.Ctx, n)
			require.ErrorIs(w, err, lock.ErrPermits)
		}
		_, err := lock.NewSemaphore(c, "relative", 3, o).Acquire(w.Ctx, 1)
		require.ErrorIs(w, err, session.ErrInvalidPath)
		require.Len(w, w.Server.Dump(), 1, "the root")
	})
}

// The path becomes unreadable before its number is compared: the number of this
// client must not replace the number in the path.
func TestNumberOfPermitsSurvivesARefusedRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/locks", nil))
		require.NoError(w, w.Server.Create(dir, []byte("3")))
		other := w.Session(w.Client())
		reads := func(r zktest.Request) bool { return r.Op == "getData" && r.Path == dir }
		// Shorter than a heartbeat period: otherwise the client lists the path again, and
		// that is refused as well.
		w.Server.FailNth(reads, 1, zktest.Action{Do: zktest.DelayReply, For: other.Heartbeat() / 4})
		refused := make(chan error, 1)
		// Waited for below; ends with the refusal.
		go func() {
			_, err := lock.NewSemaphore(w.Client(), dir, 5, nil).Acquire(w.Within(time.Minute), 1)
			refused <- err
		}()
		w.Settle()
		_, err := other.SetACL(w.Ctx, dir, session.WorldACL(session.PermAll&^session.PermRead), -1)
		require.NoError(w, err)
		require.ErrorIs(w, <-refused, session.ErrNoAuth)
		node, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.Equal(w, "3", string(node.Data))
	})
}

func TestNumberOfPermitsMustBeTheSameForAll(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		p := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, nil), 1)
		other := lock.NewSemaphore(w.Client(), dir, 5, nil)
		_, err := other.Acquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrPermits)
		require.Contains(w, err.Error(), `"3"`)
		_, err = other.TryAcquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrPermits)
		_, err = lock.NewSemaphore(w.Client(), dir, 1, nil).TryAcquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrPermits, "also where there is no room")
		w.Settle()
		require.Len(w, w.Children(dir), 1)
		require.NoError(w, p.Release(w.Ctx))
		require.NoError(w, w.acquire(lock.NewSemaphore(w.Client(), dir, 3, nil), 3).Release(w.Ctx))
	})
}

// All clients begin at once with two different numbers: a single number wins.
func TestNumberOfPermitsIsAgreedOnByTheFirst(t *testing.T) {
	for range 20 {
		inWorld(t, nil, func(w *World) {
			var all sync.WaitGroup
			var granted, refused atomic.Int64
			for i := range 6 {
				s := lock.NewSemaphore(w.Client(), dir, 2+i%2, nil)
				// Waited for below; ends with its acquire.
				all.Go(func() {
					p, err := s.Acquire(w.Within(time.Minute), 1)
					if errors.Is(err, lock.ErrPermits) {
						refused.Add(1)
					}
					if err != nil {
						return
					}
					granted.Add(1)
					_ = p.Release(w.Ctx)
				})
			}
			all.Wait()
			require.EqualValues(w, 3, granted.Load())
			require.EqualValues(w, 3, refused.Load())
		})
	}
}

// Another client writes its number between this client's read and write: the number in
// the path decides.
func TestNumberOfPermitsOfAnotherClientIsNotReplaced(t *testing.T) {
	for number, want := range map[string]error{"3": nil, "5": lock.ErrPermits} {
		inWorld(t, nil, func(w *World) {
			w.Once(func(r zktest.Request) bool { return r.Op == "setData" && r.Path == dir }, func() {
				require.NoError(w, w.Server.Set(dir, []byte(number)))
			})
			p, err := lock.NewSemaphore(w.Client(), dir, 3, nil).Acquire(w.Within(time.Minute), 1)
			require.ErrorIs(w, err, want)
			if err == nil {
				require.NoError(w, p.Release(w.Ctx))
			}
			node, err := w.Server.Get(dir)
			require.NoError(w, err)
			require.Equal(w, number, string(node.Data))
		})
	}
}

// The reply to the write of the number is lost, with and without the request: the
// permits are granted all the same.
func TestNumberOfPermitsIsWrittenOverALostConnection(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
		inWorld(t, nil, func(w *World) {
			writes := func(r zktest.Request) bool { return r.Op == "setData" && r.Path == dir }
			w.Server.FailNth(writes, 1, zktest.Action{Do: fault})
			p := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, nil), 1)
			node, err := w.Server.Get(dir)
			require.NoError(w, err)
			require.Equal(w, "3", string(node.Data))
			require.NoError(w, p.Release(w.Ctx))
		})
	}
}

// The server deletes the unused path with its number: the first request for the new
// path must write the number again.
func TestNumberOfPermitsSurvivesTheReapedPath(t *testing.T) {
	world.Needs(t, world.Containers)
	inWorld(t, &zktest.Options{ContainerInterval: 5 * time.Second}, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, 3, nil)
		require.NoError(w, w.acquire(s, 1).Release(w.Ctx))
		w.Pass(30 * time.Second)
		_, err := w.Server.Get(dir)
		require.ErrorIs(w, err, zktest.ErrNoNode)
		p := w.acquire(s, 1)
		node, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.Equal(w, "3", string(node.Data))
		require.NoError(w, p.Release(w.Ctx))
	})
}

// The path goes, and comes back, between the read of the number and the create.
func TestNumberOfPermitsIsReadInThePathThatIsEntered(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, 3, nil)
		require.NoError(w, w.acquire(s, 1).Release(w.Ctx))
		w.Settle()
		w.Once(func(r zktest.Request) bool { return world.Creates(r.Op) && strings.HasPrefix(r.Path, dir+"/") }, func() {
			if err := w.Server.Delete(dir); err != nil {
				w.Error(err)
			}
		})
		p := w.acquire(s, 1)
		node, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.Equal(w, "3", string(node.Data))
		require.NoError(w, p.Release(w.Ctx))
	})
}

func TestPermitsAreLostWithTheSession(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		a, b := w.Client(), w.Client()
		p := w.acquire(lock.NewSemaphore(a, dir, 2, o), 2)
		out := w.startAcquire(w.Ctx, lock.NewSemaphore(b, dir, 2, o), 1)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		<-p.Context().Done()
		require.Empty(w, out, "told before the next grant")
		require.ErrorIs(w, context.Cause(p.Context()), session.ErrLost)
		next := <-out
		require.NotNil(w, next)
		require.ErrorIs(w, p.Release(w.Ctx), session.ErrLost)
		require.ErrorIs(w, p.Release(w.Ctx), session.ErrLost)
		_, err := next.Session().Txn(w.Ctx, p.Guard(), session.CreateOp("/x", nil, session.Persistent, nil))
		require.ErrorIs(w, err, session.ErrNoNode)
		w.Server.Heal()
		require.NoError(w, next.Release(w.Ctx))
	})
}

// A deleted lease is told, also the second of several.
func TestPermitsEndWithAnyOfTheirNodes(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		p := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, o), 2)
		names := w.leaseNames(o)
		at := parentOf(p.Path())
		_, err := p.Session().Txn(w.Ctx, p.Guard())
		require.NoError(w, err)
		require.NoError(w, w.Server.Delete(at+"/"+names[len(names)-1]))
		_, err = p.Session().Txn(w.Ctx, p.Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
		<-p.Context().Done()
		require.ErrorIs(w, context.Cause(p.Context()), session.ErrNodeDeleted)
		require.ErrorIs(w, p.Release(w.Ctx), session.ErrNodeDeleted)
		w.Settle()
		require.Empty(w, w.leaseNames(o))
	})
}

// P3, P11, CH21: the waiter's session expires.
func TestSemaphoreWaiterGoesOnInTheNextSession_P11_CH21(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		a, b := w.Client(), w.Client()
		p := w.acquire(lock.NewSemaphore(a, dir, 1, o), 1)
		out := w.startAcquire(w.Ctx, lock.NewSemaphore(b, dir, 1, o), 1)
		w.Expire(b)
		w.Pass(20 * time.Second)
		require.Empty(w, out)
		require.NoError(w, p.Release(w.Ctx))
		next := <-out
		require.NotNil(w, next)
		require.NoError(w, next.Context().Err())
		require.NoError(w, next.Release(w.Ctx))
	})
}

// Curator's: the lock over the leases is deleted while its owner waits for a
// lease. Another contender may count meanwhile; the owner begins again.
func TestCuratorSemaphoreStartsOverWhenItsLockGoes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &lock.Options{CuratorV2: true}
		p := w.acquire(lock.NewSemaphore(w.Client(), dir, 1, o), 1)
		out := w.startAcquire(w.Ctx, lock.NewSemaphore(w.Client(), dir, 1, o), 1)
		locks := w.Children(dir + "/locks")
		require.Len(w, locks, 1)
		require.NoError(w, w.Server.Delete(dir+"/locks/"+locks[0]))
		// A third client makes a lease too, and must not block the others.
		third := w.startAcquire(w.Ctx, lock.NewSemaphore(w.Client(), dir, 1, o), 1)
		w.Pass(time.Second)
		require.NoError(w, p.Release(w.Ctx))
		for range 2 {
			var next *lock.Permits
			select {
			case next = <-out:
			case next = <-third:
			}
			require.NotNil(w, next)
			w.Pass(time.Second)
			require.NoError(w, next.Context().Err())
			require.NoError(w, next.Release(w.Ctx))
		}
		w.Settle()
		require.Empty(w, w.leaseNames(o))
	})
}

// The lock is deleted before its owner lists the leases for the first time, and the
// next client has made a lease by then: no event would tell either of them to give
// way.
func TestCuratorSemaphoreStartsOverWhenItsLockGoesBeforeTheFirstListing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first, second := curatorMutex(w.Client()), curatorMutex(w.Client())
		require.NoError(w, w.acquire(first, 1).Release(w.Ctx)) // the path exists
		w.Settle()
		w.Once(func(r zktest.Request) bool {
			return r.Client == "c1" && world.Creates(r.Op) && strings.HasPrefix(r.Path, dir+"/leases/")
		}, func() { w.Server.Delay(zktest.Link{Client: "c1"}, zktest.Both, time.Second) })
		outs := []<-chan *lock.Permits{w.startAcquire(w.Ctx, first, 1)}
		locks := w.Children(dir + "/locks")
		require.Len(w, locks, 1)
		require.NoError(w, w.Server.Delete(dir+"/locks/"+locks[0]))
		outs = append(outs, w.startAcquire(w.Ctx, second, 1))
		require.Len(w, w.Children(dir+"/leases"), 2)
		w.Pass(10 * time.Second)
		w.Server.Heal()
		for range 2 {
			var next *lock.Permits
			select {
			case next = <-outs[0]:
			case next = <-outs[1]:
			case <-time.After(time.Minute):
			}
			require.NotNil(w, next, "both wait for each other")
			require.NoError(w, next.Release(w.Ctx))
		}
	})
}

// The list of leases and the look at the own lock travel together: from the release of a
// permit to the next grant there is the event, one round trip for both, and one that
// proves that the session lives.
func TestCuratorSemaphoreSendsItsReadsAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const way = 500 * time.Millisecond
		first, second := curatorMutex(w.Client()), curatorMutex(w.Client())
		p := w.acquire(first, 1)
		out := w.startAcquire(w.Ctx, second, 1)
		w.Server.Delay(zktest.Link{Client: "c2"}, zktest.Both, way)
		w.Pass(time.Minute)
		begin := time.Now()
		require.NoError(w, p.Release(w.Ctx))
		next := <-out
		require.Equal(w, 5*way, time.Since(begin).Truncate(way))
		w.Server.Heal()
		require.NoError(w, next.Release(w.Ctx))
	})
}

// curatorMutex makes a semaphore with a single permit in Curator's form.
func curatorMutex(c *session.Client) *lock.Semaphore {
	return lock.NewSemaphore(c, dir, 1, &lock.Options{CuratorV2: true})
}

// A release wakes at most as many of the waiters as there are permits.
func TestSemaphoreReleaseWakesFew_N17(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const total, n = 3, 30
		var held []*lock.Permits
		for range total {
			held = append(held, w.acquire(lock.NewSemaphore(w.Client(), dir, total, nil), 1))
		}
		clients := make([]*session.Client, n)
		outs := make([]<-chan *lock.Permits, n)
		for i := range n {
			clients[i] = w.Client()
			outs[i] = w.startAcquire(w.Ctx, lock.NewSemaphore(clients[i], dir, total, nil), 1)
		}
		for i := range n {
			w.Pass(2 * time.Second)
			before := make([]int, n)
			for j := range n {
				before[j] = w.Server.Stats().BySession[w.ID(clients[j])]["getChildren2"]
			}
			k := rand.IntN(len(held))
			require.NoError(w, held[k].Release(w.Ctx))
			synctest.Wait()
			p := <-outs[i]
			require.NotNil(w, p)
			held[k] = p
			woken := 0
			for j := range n {
				if w.Server.Stats().BySession[w.ID(clients[j])]["getChildren2"] > before[j] {
					woken++
				}
			}
			require.LessOrEqual(w, woken, total)
		}
		for _, p := range held {
			require.NoError(w, p.Release(w.Ctx))
		}
	})
}

func TestSemaphoreContendersTellTheHolders(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		s := lock.NewSemaphore(w.Client(), dir, 3, o)
		p := w.acquire(s, 2)
		list, err := s.Contenders(w.Ctx)
		require.NoError(w, err)
		sum := 0
		for _, c := range list {
			require.True(w, c.Holds)
			sum += c.Permits
		}
		require.Equal(w, 2, sum)
		out := w.startAcquire(w.Within(time.Second), lock.NewSemaphore(w.Client(), dir, 3, o), 2)
		list, err = s.Contenders(w.Ctx)
		require.NoError(w, err)
		if o == nil {
			require.Len(w, list, 2)
			require.False(w, list[1].Holds)
			require.Equal(w, 2, list[1].Permits)
		}
		require.Nil(w, <-out)
		require.NoError(w, p.Release(w.Ctx))
	})
}

// A caller whose number of permits differs from the path's gets an error: holders
// and waiters could not be distinguished.
func TestSemaphoreContendersOfAnotherNumberAreAnError(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		n, err := lock.PermitsAt(w.Ctx, c, dir)
		require.NoError(w, err)
		require.Zero(w, n, "no client has used the semaphore")
		list, err := lock.NewSemaphore(c, dir, 10, nil).Contenders(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, list)

		p := w.acquire(lock.NewSemaphore(c, dir, 3, nil), 2)
		for _, other := range []int{2, 4, 10} {
			_, err = lock.NewSemaphore(c, dir, other, nil).Contenders(w.Ctx)
			require.ErrorIs(w, err, lock.ErrPermits)
		}
		n, err = lock.PermitsAt(w.Ctx, c, dir)
		require.NoError(w, err)
		require.Equal(w, 3, n)
		require.NoError(w, p.Release(w.Ctx))

		for i, data := range []string{"", "0", "-1", "+3", "03", "3 ", "10.0.0.7", "99999999999999999999"} {
			path := fmt.Sprintf("%s/foreign%d", dir, i)
			require.NoError(w, w.Server.Create(path, []byte(data)))
			n, err = lock.PermitsAt(w.Ctx, c, path)
			require.NoError(w, err)
			require.Zero(w, n, data)
		}
		_, err = lock.PermitsAt(w.Ctx, c, "relative")
		require.ErrorIs(w, err, session.ErrInvalidPath)
	})
}

func TestAllOfTheMostPermitsThereCanBeLeaveNone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, math.MaxInt32, nil)
		p := w.acquire(s, math.MaxInt32)
		_, err := s.TryAcquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrBusy)
		require.NoError(w, p.Release(w.Ctx))
	})
}

// A stranger may want more than numbers hold.
func TestWantsThatOverflowLetNoContenderIn(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, 1, nil)
		p := w.acquire(s, 1)
		for range 2 {
			_, err := w.Server.CreateSequential(dir+"/_c_00000000-0000-4000-8000-000000000000-9223372036854775807-permit-", nil)
			require.NoError(w, err)
		}
		_, err := lock.NewSemaphore(w.Client(), dir, 1, nil).TryAcquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrBusy)
		require.NoError(w, p.Release(w.Ctx))
	})
}
