package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var errHandler = errors.New("the handler does not like it")

// A resource to be given up stays owned as long as the handler runs; the next
// owner's handler is called when the next owner owns the resource. R26, R42.
func TestRevokedResourceStaysOwnedUntilTheHandlerReturns_R18_R23_R25_R36(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, rs []*rebalanser.Resource) error {
			if what[0] == '-' {
				world.Pause(time.Minute)
				for _, r := range rs {
					require.NoError(w, r.Context().Err(), "r is still owned")
				}
			}
			return nil
		}
		c1.run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(50 * time.Second)
		require.Empty(w, c2.takeCalls())
		if w.mode == rebalanser.ResourceBarrier {
			st := w.status(a)
			require.Len(w, st.Waiting, 1, "the waiting member and its resource")
			require.Equal(w, c1.group.State().Client, st.Waiting[0].On)
			require.Equal(w, c2.group.State().Client, st.Waiting[0].For)
			require.False(w, st.Waiting[0].Since.IsZero())
		}
		w.Pass(20 * time.Second)
		require.Equal(w, 1, count(c2.takeCalls(), "+"))
		w.shared(2, c1, c2)
		gone := c1.resource(w.of("c2")[0])
		require.ErrorIs(w, context.Cause(gone.Context()), rebalanser.ErrRevoked)
	})
}

// A handler that ignores its context does not keep the contexts from ending.
func TestBlockedHandlerDoesNotStopLossDetection_X11(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1 := w.node("c2", rebalanser.Options{}) // the administrator's client is c1
		goOn := make(chan struct{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '+' {
				<-goOn
			}
			return nil
		}
		c1.run()
		w.Settle()
		c2 := w.node("c3", rebalanser.Options{}).run()
		r := c1.resource("r00")
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		w.Pass(30 * time.Second)
		require.ErrorIs(w, context.Cause(r.Context()), session.ErrLost)
		require.Equal(w, []string{"+r00,r01"}, c1.takeCalls(), "not told yet: the call has not returned")
		w.shared(2, c2)
		w.Server.Heal()
		close(goOn)
		w.Pass(30 * time.Second)
		require.Equal(w, "!r00,r01", c1.takeCalls()[0])
		w.shared(2, c1, c2)
	})
}

// The context of Assigned ends when one of its resources is assigned elsewhere.
// In global mode no new generation begins until all members have started.
// Kazoo's partitioner misses changes while waiting for the last member: P23.
func TestAssignmentIsCalledOffWhileTheHandlerRuns_R32(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(3)
		c1 := w.node("c1", rebalanser.Options{})
		var cause error
		c1.before = func(ctx context.Context, what string, rs []*rebalanser.Resource) error {
			if what[0] == '+' && len(rs) == 3 {
				world.SleepContext(ctx, time.Minute)
				cause = context.Cause(ctx)
			}
			return nil
		}
		c1.run()
		w.Pass(time.Second)
		_, err := a.RemoveResources(w.Ctx, "r01")
		require.NoError(w, err)
		w.Pass(time.Second)
		if w.mode == rebalanser.GlobalBarrier {
			require.Equal(w, []string{"+r00,r01,r02"}, c1.takeCalls())
			w.Pass(time.Minute)
			require.NoError(w, cause)
			require.Equal(w, []string{"-r01"}, c1.takeCalls())
		} else {
			require.ErrorIs(w, cause, rebalanser.ErrRevoked)
			require.Equal(w, []string{"+r00,r01,r02", "-r01"}, c1.takeCalls())
		}
		require.Equal(w, []string{"r00", "r02"}, w.of("c1"))
	})
}

func TestHandlersErrorEndsTheMembershipInOrder(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errHandler },
		"panic": func() error { panic(errHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *World) {
				a := w.stock(2)
				c1 := w.node("c1", rebalanser.Options{})
				c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
					if what == "+r02" {
						w.yield("c1", c1.resource("r02"))
						return fail()
					}
					return nil
				}
				c1.run()
				w.Settle()
				_, err := a.AddResources(w.Ctx, "r02")
				require.NoError(w, err)
				err = c1.awaitEnd()
				require.ErrorIs(w, err, errHandler)
				if name == "panic" {
					require.ErrorContains(w, err, "handler_test.go", "with its stack")
				}
				require.Equal(w, []string{"+r00,r01", "+r02", "-r00,r01"}, c1.takeCalls(), "the rest is revoked")
				c2 := w.node("c2", rebalanser.Options{}).run()
				w.Settle()
				w.shared(3, c2)
			})
		})
	}
}

func TestHandlersErrorInRevokedEndsTheMembershipInOrder(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(3)
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '-' {
				return errHandler
			}
			return nil
		}
		c1.run()
		w.Settle()
		_, err := a.RemoveResources(w.Ctx, "r01")
		require.NoError(w, err)
		require.ErrorIs(w, c1.awaitEnd(), errHandler)
		require.Equal(w, []string{"+r00,r01,r02", "-r01", "-r00,r02"}, c1.takeCalls())
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Settle()
		require.Equal(w, []string{"r00", "r02"}, w.of("c2"))
		c2.stop()
		require.NoError(w, leftBehind(w.Server))
	})
}

func TestPanicInLostEndsRun(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if what[0] == '!' {
				panic(fmt.Sprint("lost ", 1))
			}
			return nil
		}
		c1.run()
		w.Settle()
		w.excuse("c1", time.Second)
		w.Expire(c1.client)
		require.ErrorContains(w, c1.awaitEnd(), "panicked: lost 1")
	})
}

func TestErrorOfTheHandlerCountsAlsoWhenTheSessionIsLostMeanwhile(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(1)
		c1 := w.node("c1", rebalanser.Options{})
		c1.before = func(ctx context.Context, what string, rs []*rebalanser.Resource) error {
			if what[0] == '+' {
				<-ctx.Done()
				w.lose("c1", rs[0])
				return errHandler
			}
			return nil
		}
		c1.run()
		w.Settle()
		w.excuse("c1", time.Second)
		w.Expire(c1.client)
		require.ErrorIs(w, c1.awaitEnd(), errHandler)
		require.Equal(w, []string{"+r00"}, c1.takeCalls(), "c1 has given up the resource of the failure")
	})
}

func TestRevokeTimeoutEndsTheContextsAndReleasesNothing(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1 := w.node("c1", rebalanser.Options{RevokeTimeout: 10 * time.Second})
		var after time.Duration
		c1.before = func(ctx context.Context, what string, rs []*rebalanser.Resource) error {
			if what[0] != '-' {
				return nil
			}
			began := time.Now()
			<-ctx.Done()
			<-rs[0].Context().Done()
			after = time.Since(began)
			require.ErrorIs(w, context.Cause(ctx), rebalanser.ErrRevokeTimeout)
			require.ErrorIs(w, context.Cause(rs[0].Context()), rebalanser.ErrRevokeTimeout)
			world.Pause(time.Minute)
			return nil
		}
		c1.run()
		w.Settle()
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(time.Minute)
		require.Equal(w, 10*time.Second, after)
		quiet(w, c2)
		w.Pass(20 * time.Second)
		require.Equal(w, 1, count(c2.takeCalls(), "+"))
	})
}

// worker is a function for Each that records its running resources.
type worker struct {
	mu      sync.Mutex
	running []string
	causes  []error
	most    atomic.Int64
}

func (k *worker) work(ctx context.Context, r *rebalanser.Resource) error {
	k.mu.Lock()
	k.running = append(k.running, r.Name())
	k.most.Store(max(k.most.Load(), int64(len(k.running))))
	k.mu.Unlock()
	<-ctx.Done()
	world.Pause(5 * time.Second) // the work in progress is finished
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = slices.DeleteFunc(k.running, func(n string) bool { return n == r.Name() })
	k.causes = append(k.causes, context.Cause(ctx))
	return ctx.Err()
}

func (k *worker) now() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(slices.Values(k.running))
}

func TestEachRunsAFunctionPerResourceAndWaitsForIt(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(3)
		var one, two worker
		start := func(k *worker) (stop func() error) {
			n := &node{w: w, group: rebalanser.New(w.Client(), path, rebalanser.Each(k.work), &rebalanser.Options{Mode: w.mode})}
			n.run()
			return func() error { n.stopIt(); return n.awaitEnd() }
		}
		stopOne := start(&one)
		w.Pass(time.Second)
		require.Equal(w, names(3), one.now())
		stopTwo := start(&two)
		w.Pass(2 * time.Second)
		require.Equal(w, names(3), one.now(), "the member waits for the function")
		require.Empty(w, two.now())
		w.Pass(10 * time.Second)
		require.Len(w, append(one.now(), two.now()...), 3)
		require.Len(w, two.now(), 1)
		require.ErrorIs(w, one.causes[0], rebalanser.ErrRevoked)
		require.NoError(w, stopOne())
		require.Empty(w, one.now())
		w.Pass(time.Second)
		require.Equal(w, names(3), two.now())
		require.NoError(w, stopTwo())
		require.Empty(w, two.now())
	})
}

func TestEachEndsTheMembershipWhenTheFunctionFails(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errHandler },
		"panic": func() error { panic(errHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *World) {
				w.stock(3)
				var others worker
				h := rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
					switch r.Name() {
					case "r00":
						world.Pause(time.Second)
						return fail()
					case "r01":
						return nil // done with r01, and keeps the resource
					}
					return others.work(ctx, r)
				})
				n := &node{w: w, group: rebalanser.New(w.Client(), path, h, &rebalanser.Options{Mode: w.mode})}
				n.run()
				err := n.awaitEnd()
				require.ErrorIs(w, err, errHandler)
				require.ErrorContains(w, err, `"r00"`)
				require.Empty(w, others.now(), "the others have ended")
				n.run()
				w.Settle()
				require.Equal(w, 3, n.group.State().Owned, "a failure before concerns no later Run")
				require.ErrorIs(w, n.awaitEnd(), errHandler)
			})
		})
	}
}

func TestEachIsToldOfALoss(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		var k worker
		c := w.Client()
		n := &node{w: w, group: rebalanser.New(c, path, rebalanser.Each(k.work), &rebalanser.Options{Mode: w.mode})}
		n.run()
		w.Settle()
		w.Expire(c)
		w.Pass(30 * time.Second)
		require.Len(w, k.causes, 2)
		require.ErrorIs(w, k.causes[0], session.ErrLost)
		require.Equal(w, names(2), k.now(), "and runs again, in the next session")
		n.stopIt()
		require.NoError(w, n.awaitEnd())
		require.EqualValues(w, 2, k.most.Load())
	})
}
