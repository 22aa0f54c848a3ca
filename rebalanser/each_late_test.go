package rebalanser_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A failure of a function at the loss of its resource counts, even if its
// member ends before coming back.
func TestEachThatFailsOverALossIsHeardOfAtTheEnd(t *testing.T) {
	for _, panics := range []bool{false, true} {
		inBoth(t, func(w *World) {
			w.stock(1)
			n := &node{w: w, group: rebalanser.New(w.Client(), path, rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error {
				<-ctx.Done()
				world.Pause(time.Second)
				if panics {
					panic(errHandler)
				}
				return errHandler
			}), &rebalanser.Options{Mode: w.mode})}
			n.run()
			w.Settle()
			w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
			w.Pass(time.Minute)
			n.stopIt()
			require.ErrorIs(w, n.awaitEnd(), errHandler)
		})
	}
}

// A function that ends its goroutine has failed: otherwise its member would
// keep a resource without work.
func TestEachThatEndsItsGoroutineEndsTheMembership(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		var others worker
		n := &node{w: w, group: rebalanser.New(w.Client(), path, rebalanser.Each(func(ctx context.Context, r *rebalanser.Resource) error {
			if r.Name() == "r00" {
				runtime.Goexit()
			}
			return others.work(ctx, r)
		}), &rebalanser.Options{Mode: w.mode})}
		n.run()
		w.Pass(time.Minute)
		require.Empty(w, others.now())
		err := n.awaitEnd()
		require.ErrorContains(w, err, "Goexit")
		require.ErrorContains(w, err, `"r00"`)
		require.NoError(w, leftBehind(w.Server))
	})
}

// So has a handler, in each of its methods.
func TestHandlerThatEndsItsGoroutineInAnyMethodLeavesNothing(t *testing.T) {
	for _, sign := range []string{"+", "-", "!"} {
		t.Run(sign, func(t *testing.T) {
			inBoth(t, func(w *World) {
				a := w.stock(2)
				c2 := w.node("c2", rebalanser.Options{Instance: "one"})
				c2.before = func(_ context.Context, what string, rs []*rebalanser.Resource) error {
					if what[:1] == sign {
						for _, r := range rs {
							if sign != "!" {
								w.yield("c2", r)
							}
						}
						runtime.Goexit()
					}
					return nil
				}
				c2.run()
				w.Settle()
				switch sign {
				case "-":
					_, err := a.RemoveResources(w.Ctx, "r00")
					require.NoError(w, err)
				case "!":
					w.excuse("c2", time.Minute)
					require.NoError(w, w.Server.Delete(path+"/clients/"+c2.group.State().Client))
				}
				require.ErrorContains(w, c2.awaitEnd(), "Goexit")
				c3 := w.node("c3", rebalanser.Options{Instance: "one"}).run()
				w.Pass(5 * time.Second)
				require.Equal(w, "member", c3.group.State().Phase, "the other member has left no traces")
				require.Empty(w, w.of("c2"))
				require.NotEmpty(w, w.of("c3"))
			})
		})
	}
}

// exiting is an assignor that ends its goroutine.
type exiting struct{ assignor.Assignor }

func (exiting) Name() string { return "exiting" }

func (exiting) Assign([]assignor.Member, []assignor.Resource) [][]string {
	runtime.Goexit()
	return nil
}

// The same for a coordinator that does not assign any more.
func TestAssignorThatEndsItsGoroutineEndsTheMembership(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c2 := w.node("c2", rebalanser.Options{Assignor: exiting{assignor.Sticky()}}).run()
		require.ErrorContains(w, c2.awaitEnd(), "Goexit")
		c3 := w.node("c3", rebalanser.Options{}).run()
		w.Pass(5 * time.Second)
		w.shared(2, c3)
	})
}
