package counter_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func (w *World) draw(q *counter.Sequence) int64 {
	w.Helper()
	n, err := q.Next(w.Within(time.Minute))
	require.NoError(w, err)
	return n
}

func TestNumbersBeginWithOneAndHaveNoGapsWithoutFaults(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.NewSequence(w.Client(), path, nil), counter.NewSequence(w.Client(), path, nil)
		for n := int64(1); n < 20; n += 2 {
			require.Equal(w, n, w.draw(a))
			require.Equal(w, n+1, w.draw(b))
		}
	})
}

func TestBlocksAreHandedOutInOrderAndTheRestOfACrashedOneIsSkipped(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &counter.Options{Block: 10}
		a, b := counter.NewSequence(w.Client(), path, o), counter.NewSequence(w.Client(), path, o)
		require.EqualValues(w, 1, w.draw(a))
		require.EqualValues(w, 11, w.draw(b))
		for n := int64(2); n <= 10; n++ {
			require.Equal(w, n, w.draw(a))
		}
		require.EqualValues(w, 21, w.draw(a))
		again := counter.NewSequence(w.Client(), path, o) // a restarted process
		require.EqualValues(w, 31, w.draw(again))
		require.EqualValues(w, 12, w.draw(b))
		require.EqualValues(w, 40, w.value(), "the highest reserved number")
	})
}

// Many concurrent calls: a single write for all waiting callers, each number
// once, and increasing for each goroutine.
func TestConcurrentNextsShareReservations(t *testing.T) {
	for _, block := range []int{1, 7, 1000} {
		inWorld(t, nil, func(w *World) {
			client := w.Client()
			q := counter.NewSequence(client, path, &counter.Options{Block: block})
			w.draw(q)
			w.slowly()
			w.ResetStats()
			var mu sync.Mutex
			var all []int64
			var wg sync.WaitGroup
			for range 50 {
				// Waited for below; ends after its numbers.
				wg.Go(func() {
					last := int64(0)
					for range 10 {
						n := w.draw(q)
						if n <= last {
							w.Errorf("%d after %d", n, last)
						}
						last = n
						mu.Lock()
						all = append(all, n)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(all)
			require.Len(w, slices.Compact(all), 500)
			require.EqualValues(w, 501, all[len(all)-1], "no gaps")
			require.LessOrEqual(w, w.Server.Stats().BySession[w.ID(client)]["multi"], 21)
		})
	}
}

// The caller that waited first is served first: no returning caller overtakes.
func TestWaitersAreServedInTheirOrder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := counter.NewSequence(w.Client(), path, nil)
		w.slowly()
		outs := make([]chan int64, 20)
		for i := range outs {
			outs[i] = make(chan int64, 1)
			// The number is received below, which waits for the goroutine; ends
			// with it.
			go func() { outs[i] <- w.draw(q) }()
			w.Pass(time.Millisecond)
		}
		for i, out := range outs {
			require.EqualValues(w, i+1, <-out)
		}
	})
}

// The caller that reserves for all leaves, or a waiting caller leaves.
func TestOthersGoOnWhenACallerOfNextLeaves(t *testing.T) {
	for _, leaver := range []int{0, 1, 2} {
		inWorld(t, nil, func(w *World) {
			q := counter.NewSequence(w.Client(), path, nil)
			require.EqualValues(w, 1, w.draw(q))
			w.slowly()
			ctx, cancel := context.WithCancel(w.Ctx)
			type drawn struct {
				n   int64
				err error
			}
			outs := make([]chan drawn, 4)
			for i := range outs {
				outs[i] = make(chan drawn, 1)
				of := w.Ctx
				if i == leaver {
					of = ctx
				}
				// The number is received below, which waits for the goroutine; ends
				// with it.
				go func() {
					n, err := q.Next(of)
					outs[i] <- drawn{n, err}
				}()
				w.Pass(time.Millisecond)
			}
			cancel()
			last := int64(1)
			for i, out := range outs {
				got := <-out
				if i == leaver {
					require.ErrorIs(w, got.err, context.Canceled)
					continue
				}
				require.NoError(w, got.err)
				require.Greater(w, got.n, last)
				last = got.n
			}
			require.Greater(w, w.draw(q), last)
		})
	}
}

// A caller that leaves at the very instant of its turn passes the turn on.
func TestCallersOfNextComeAndGo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := counter.NewSequence(w.Client(), path, &counter.Options{Block: 3})
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		var mu sync.Mutex
		seen := map[int64]bool{}
		var wg sync.WaitGroup
		for i := range 30 {
			// Waited for below; ends after its tries.
			wg.Go(func() {
				for j := range 30 {
					ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(5*((i+j)%6))*time.Millisecond)
					n, err := q.Next(ctx)
					if err != nil && ctx.Err() == nil {
						w.Error(err)
					}
					cancel()
					mu.Lock()
					if err == nil && seen[n] {
						w.Errorf("%d twice", n)
					}
					seen[n] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		w.Server.Heal()
		require.Greater(w, len(seen), 50)
		require.False(w, seen[w.draw(q)])
	})
}

func TestNumbersOfALostReplyAreSkippedOrUsedNeverRepeated(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		q, other := counter.NewSequence(client, path, nil), counter.NewSequence(w.Client(), path, nil)
		require.EqualValues(w, 1, w.draw(q))
		w.Server.FailNth(writes, 1, zktest.Action{Do: zktest.ExpireAfter})
		n := w.draw(q)
		require.EqualValues(w, 3, n, "2 was reserved in a session that ended during the write")
		require.EqualValues(w, 4, w.draw(other))
	})
}

func TestSequenceThatIsSetBackIsNoticed(t *testing.T) {
	for name, back := range map[string]func(w *World){
		"set":     func(w *World) { require.NoError(w, w.Server.Set(path, long(1))) },
		"deleted": func(w *World) { w.wipe() },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := counter.NewSequence(w.Client(), path, nil)
				for range 3 {
					w.draw(q)
				}
				back(w)
				_, err := q.Next(w.Ctx)
				require.ErrorIs(w, err, counter.ErrReused)
				require.ErrorContains(w, err, path)
			})
		})
	}
}

// A negative value was never handed out: the first number is still 1.
func TestSequenceOfANegativeNumberBeginsWithOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(-7))
		q := counter.NewSequence(w.Client(), path, nil)
		for want := range int64(3) {
			n, err := q.Next(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, want+1, n)
		}
	})
}

func TestSequenceEndsWithItsNumbers(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(math.MaxInt64 - 1))
		q := counter.NewSequence(w.Client(), path, nil)
		require.EqualValues(w, math.MaxInt64, w.draw(q))
		_, err := q.Next(w.Ctx)
		require.ErrorIs(w, err, counter.ErrOverflow)
		require.EqualValues(w, math.MaxInt64, w.value())
	})
}

// The last numbers are handed out even if a block does not fit any more, each
// to one waiting caller.
func TestLastNumbersAreFewerThanABlock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(math.MaxInt64 - 3))
		q := counter.NewSequence(w.Client(), path, &counter.Options{Block: 100})
		got := make(chan error, 5)
		for range 5 {
			// The answer is received below, which waits for the goroutine; ends
			// with it.
			go func() {
				_, err := q.Next(w.Ctx)
				got <- err
			}()
		}
		over := 0
		for range 5 {
			if err := <-got; err != nil {
				require.ErrorIs(w, err, counter.ErrOverflow)
				over++
			}
		}
		require.Equal(w, 2, over)
		require.EqualValues(w, math.MaxInt64, w.value())
	})
}

// A number reserved for a caller that has left goes to the next caller, if the
// number is part of a block. Otherwise the number is skipped: another process
// may have got a higher number since.
func TestNumberOfACallerThatHasLeftGoesToNoCallerThatMustGetAHigherOne(t *testing.T) {
	for _, block := range []int64{1, 2} {
		inWorld(t, nil, func(w *World) {
			o := &counter.Options{Block: int(block)}
			q, other := counter.NewSequence(w.Client(), path, o), counter.NewSequence(w.Client(), path, o)
			require.EqualValues(w, 1, w.draw(q))
			for n := int64(2); n <= block; n++ {
				w.draw(q)
			}
			w.slowly()
			_, err := q.Next(w.Within(150 * time.Millisecond))
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.NotErrorIs(w, err, session.ErrUnknownOutcome, "a sequence has no unknown outcomes")
			w.Pass(time.Second)
			require.Equal(w, 2*block, w.value(), "the number was reserved anyway")
			require.Equal(w, 2*block+1, w.draw(other))
			if block == 1 {
				require.EqualValues(w, 4, w.draw(q))
			} else {
				require.Equal(w, block+1, w.draw(q))
			}
		})
	}
}

// A caller that comes while the answer is in flight may come after another
// process got a higher number.
func TestNumberOfACallerThatHasLeftGoesToNoCallerThatComesBeforeItIsKnown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, other := counter.NewSequence(w.Client(), path, nil), counter.NewSequence(w.Client(), path, nil)
		require.EqualValues(w, 1, w.draw(q))
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.Both, 100*time.Millisecond)
		_, err := q.Next(w.Within(150 * time.Millisecond)) // reserved, and not yet answered
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.EqualValues(w, 3, w.draw(other))
		require.EqualValues(w, 4, w.draw(q))
	})
}

func TestNextEndsWithTheClient(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		q := counter.NewSequence(client, path, nil)
		require.NoError(w, client.Close(w.Ctx))
		_, err := q.Next(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}
