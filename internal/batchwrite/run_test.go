package batchwrite

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/fifo"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// running reports whether a goroutine carries changes out.
func (r *Batcher[T]) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop != nil
}

// Without waiting callers, sent requests are answered, or their session ends,
// and then no goroutine runs.
func TestNothingRunsForLongOnceAllCallersHaveLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		away func(w *world.World)
		long time.Duration
	}{
		"gone":   {func(w *world.World) { require.NoError(w, w.Server.Stop(1)) }, time.Millisecond},
		"busy":   {func(w *world.World) { w.Server.Delay(zktest.Link{}, zktest.Both, time.Second) }, 3 * time.Second},
		"silent": {func(w *world.World) { w.Server.BlackHole(zktest.Link{}, zktest.Both) }, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				c := numbers(w.Client(), "/n")
				_, err := c.Change(w.Ctx, plus(1))
				require.NoError(w, err)
				synctest.Wait() // the answer comes before its end
				require.False(w, c.running())
				tc.away(w)
				w.Settle()
				for range 3 {
					ctx, cancel := context.WithTimeout(w.Ctx, 100*time.Millisecond)
					_, err = c.Change(ctx, plus(1))
					require.Error(w, err)
					cancel()
				}
				if name == "silent" {
					w.Pass(20 * time.Second) // the session is over
					w.Server.Heal()
				}
				w.Pass(tc.long)
				require.False(w, c.running())
				w.Server.Heal()
				_ = w.Server.Restart(1)
			})
		})
	}
}

func TestNothingRunsOnceTheClientIsClosed(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		client := w.Client()
		c := numbers(client, "/n")
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		ctx, cancel := context.WithTimeout(w.Ctx, 100*time.Millisecond)
		defer cancel()
		_, err := c.Change(ctx, plus(1))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		over, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		_ = client.Close(over) // its server does not answer
		w.Pass(time.Millisecond)
		require.False(w, c.running())
		w.Server.Heal()
	})
}

// A caller whose patience is shorter than the first change of a session takes
// gets through in the end, by trying again.
func TestShortPatienceGetsThrough(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := numbers(w.Client(), "/a/b/n")
		const oneWay = 10 * time.Millisecond
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		for tries := 1; ; tries++ {
			ctx, cancel := context.WithTimeout(w.Ctx, 3*oneWay)
			_, err := c.Change(ctx, plus(1))
			cancel()
			if err == nil {
				break
			}
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.Less(w, tries, 20)
		}
	})
}

// firstOp is the first op of a queue with ops.
func firstOp(q *fifo.Queue[*op[int64]]) *op[int64] {
	for o := range q.All() {
		return o
	}
	return nil
}

// Callers come and go without a server: the memory of the goroutine that
// continues for all of them does not grow.
func TestOutageWithImpatientCallersTakesNoMemory(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := numbers(w.Client(), "/n")
		_, err := c.Change(w.Ctx, plus(1))
		require.NoError(w, err)
		require.NoError(w, w.Server.Stop(1))
		w.Settle()
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(w.Ctx)
		// Waited for below; ends with ctx.
		go func() {
			_, err := c.Change(ctx, plus(1))
			done <- err
		}()
		synctest.Wait()
		c.mu.Lock()
		mine := firstOp(&c.queue)
		c.mu.Unlock()
		cycle := func() {
			c.mu.Lock()
			c.stop() // the last caller has left, and the next is already present
			c.queue.Remove(firstOp(&c.queue).place)
			next := &op[int64]{change: plus(1), done: make(chan struct{})}
			next.place = c.queue.Push(next)
			c.mu.Unlock()
			synctest.Wait()
		}
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		const cycles = 5000
		cycle()
		before := heap()
		for range cycles {
			cycle()
		}
		assert.Less(w, heap()-before, int64(20*cycles), "bytes")
		c.mu.Lock()
		c.queue.Remove(firstOp(&c.queue).place)
		mine.place = c.queue.Push(mine)
		c.mu.Unlock()
		cancel()
		require.ErrorIs(w, <-done, context.Canceled)
	})
}
