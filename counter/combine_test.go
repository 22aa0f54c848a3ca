package counter_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Goroutines with a shared counter share its writes.

// slowly delays the client's messages, so changes gather.
func (w *World) slowly() { w.Server.Delay(zktest.Link{}, zktest.Both, 100*time.Millisecond) }

func TestAThousandChangesAtOnceAreTwoWritesAndEachHasItsResult(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		w.slowly()
		w.ResetStats()
		var mu sync.Mutex
		var got []int
		var all sync.WaitGroup
		for range 1000 {
			// Waited for below; ends with its addition.
			all.Go(func() {
				v := w.add(c, 1)
				mu.Lock()
				got = append(got, int(v))
				mu.Unlock()
			})
		}
		all.Wait()
		slices.Sort(got)
		for i, v := range got {
			require.Equal(w, i+2, v)
		}
		require.EqualValues(w, 1001, w.value())
		require.LessOrEqual(w, w.Server.Stats().BySession[w.ID(client)]["multi"], 2)
	})
}

// Each op of a batch sees the state left by the ops before.
func TestMixedBatchIsAsIfOneAfterTheOther(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 1)
		w.slowly()
		first := w.startAdd(w.Ctx, c, 1) // 2
		big := w.startAdd(w.Ctx, c, math.MaxInt64)
		var swaps []chan bool
		for _, pair := range [][2]int64{{2, 5}, {2, 6}} {
			swapped := make(chan bool, 1)
			swaps = append(swaps, swapped)
			// Waited for below; ends with its swap.
			go func() {
				ok, err := c.CompareAndSwap(w.Ctx, pair[0], pair[1])
				if err != nil {
					w.Error(err)
				}
				swapped <- ok
			}()
			w.Settle()
		}
		last := w.startAdd(w.Ctx, c, 10)
		require.EqualValues(w, 2, (<-first).value)
		require.ErrorIs(w, (<-big).err, counter.ErrOverflow)
		require.True(w, <-swaps[0])
		require.False(w, <-swaps[1])
		got := <-last
		require.NoError(w, got.err)
		require.EqualValues(w, 15, got.value)
		require.EqualValues(w, 15, w.value())
	})
}

func TestChangeWhoseCallerLeavesBeforeItIsSentIsNotMade(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 1)
		w.slowly()
		first := w.startAdd(w.Ctx, c, 1)
		ctx, cancel := context.WithCancelCause(w.Ctx)
		second := w.startAdd(ctx, c, 100)
		third := w.startAdd(w.Ctx, c, 1)
		why := errors.New("no longer needed")
		cancel(why)
		got := <-second
		require.ErrorIs(w, got.err, context.Canceled)
		require.ErrorIs(w, got.err, why)
		require.NotErrorIs(w, got.err, session.ErrUnknownOutcome)
		require.EqualValues(w, 2, (<-first).value)
		require.EqualValues(w, 3, (<-third).value)
	})
}

func TestCallerThatLeavesAfterItsChangeWasSentCannotKnow(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 1)
		w.slowly()
		ctx, cancel := context.WithCancel(w.Ctx)
		first := w.startAdd(ctx, c, 1)
		second := w.startAdd(w.Ctx, c, 1) // waits behind the first
		cancel()
		got := <-first
		require.ErrorIs(w, got.err, context.Canceled)
		require.ErrorIs(w, got.err, session.ErrUnknownOutcome)
		require.EqualValues(w, 3, (<-second).value, "the first was carried out, and others continue")
	})
}

// Without a connection nothing is sent: a caller that gives up waiting for a
// connection knows that nothing was changed, or will be later.
func TestChangeThatWaitsForAConnectionIsNotMadeOnceItsCallerHasLeft(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		require.NoError(w, w.Server.Stop(1))
		w.Settle()
		ctx, cancel := context.WithCancel(w.Ctx)
		first := w.startAdd(ctx, c, 10)
		second := w.startAdd(w.Ctx, c, 100)
		cancel()
		got := <-first
		require.ErrorIs(w, got.err, context.Canceled)
		require.NotErrorIs(w, got.err, session.ErrUnknownOutcome)
		require.NoError(w, w.Server.Restart(1))
		got = <-second
		require.NoError(w, got.err)
		require.EqualValues(w, 101, got.value)
	})
}

// A batch is lost with its session, and the first caller of the batch leaves.
// The other changes still depend on the lost write: they must neither be made
// in addition to it nor be refused without it.
func TestRestOfALostBatchStaysPending(t *testing.T) {
	for name, change := range map[string]func(w *World, c *counter.Counter) error{
		"Set": func(w *World, c *counter.Counter) error { return c.Set(w.Ctx, 5) },
		"CompareAndSwap": func(w *World, c *counter.Counter) error {
			_, err := c.CompareAndSwap(w.Ctx, 2, 5)
			return err
		},
	} {
		for others, want := range map[bool]int64{true: 7, false: 5} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c := counter.New(w.Client(), path, nil)
					w.add(c, 0)
					w.slowly()
					ctx, cancel := context.WithCancel(w.Ctx)
					w.Server.FailNth(writes, 2, zktest.Action{Do: zktest.ExpireBefore})
					w.Server.OnRequest(func(r zktest.Request) zktest.Action {
						if world.Creates(r.Op) {
							cancel() // the next session begins
						}
						return zktest.Action{}
					})
					n := 0
					w.Server.OnRequest(func(r zktest.Request) zktest.Action {
						if writes(r) {
							if n++; n == 3 && others {
								require.NoError(w, w.Server.Set(path, long(7)))
							}
						}
						return zktest.Action{}
					})
					busy := w.startAdd(w.Ctx, c, 1)
					first := w.startAdd(ctx, c, 1) // 2; the swap depends on this value
					second := make(chan error, 1)
					// Its error is waited for below; ends with the change.
					go func() { second <- change(w, c) }()
					require.EqualValues(w, 1, (<-busy).value)
					require.ErrorIs(w, (<-first).err, session.ErrUnknownOutcome)
					err := <-second
					switch {
					case others:
						require.ErrorIs(w, err, session.ErrUnknownOutcome)
					case name == "CompareAndSwap": // from 2, but the value is 1
						require.NoError(w, err)
						want = 1
					default:
						require.NoError(w, err)
					}
					require.Equal(w, want, w.value())
				})
			})
		}
	}
}

// All callers leave while a write is in progress; the next change must neither
// wait for the write nor be confused by it.
func TestNextChangeAfterOneThatAllHaveLeft(t *testing.T) {
	for _, wait := range []time.Duration{0, 10 * time.Millisecond, time.Second} {
		inWorld(t, nil, func(w *World) {
			client := w.Client()
			c := counter.New(client, path, nil)
			w.add(c, 1)
			w.slowly()
			ctx, cancel := context.WithCancel(w.Ctx)
			first := w.startAdd(ctx, c, 1)
			cancel()
			w.Server.Heal()
			if wait > 0 {
				w.Pass(wait)
			}
			require.EqualValues(w, 3, w.add(c, 1))
			require.ErrorIs(w, (<-first).err, session.ErrUnknownOutcome)
			w.Pass(time.Second)
			require.Len(w, w.Children(path), 1)
			require.NoError(w, client.Close(w.Ctx))
			w.Pass(time.Second)
			require.Empty(w, w.Children(path))
		})
	}
}

func TestNothingIsSentWithAnEndedContextOrAWrongArgument(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		ended, cancel := context.WithCancel(w.Ctx)
		cancel()
		w.ResetStats()
		for name, err := range allMethods(ended, client, path, nil) {
			require.ErrorIs(w, err, context.Canceled, name)
			require.ErrorContains(w, err, "counter: ", name)
			require.ErrorContains(w, err, path, name)
		}
		for field, args := range map[string]struct {
			path string
			o    *counter.Options
		}{
			"path":   {"relative", nil},
			"root":   {"/", nil},
			"Format": {path, &counter.Options{Format: 9}},
			"Block":  {path, &counter.Options{Block: -1}},
		} {
			for name, err := range allMethods(w.Ctx, client, args.path, args.o) {
				require.ErrorIs(w, err, counter.ErrInvalidArgument, name)
				require.ErrorContains(w, err, field, name)
			}
		}
		for name, err := range allMethods(w.Ctx, nil, path, nil) {
			require.ErrorIs(w, err, counter.ErrInvalidArgument, name)
		}
		_, err := counter.New(client, path, &counter.Options{Block: 5}).Get(w.Ctx)
		require.ErrorIs(w, err, counter.ErrInvalidArgument)
		_, err = counter.NewShared(client, path, 0, &counter.Options{Format: counter.KazooText}).Get(w.Ctx)
		require.ErrorIs(w, err, counter.ErrInvalidArgument)
		_, err = counter.New(client, "relative", nil).Get(w.Ctx)
		require.ErrorIs(w, err, session.ErrInvalidPath)
		require.Zero(w, w.Requests(client))
	})
}

// allMethods calls every method once.
func allMethods(ctx context.Context, client *session.Client, path string, o *counter.Options) map[string]error {
	errs := map[string]error{}
	c, s, q := counter.New(client, path, o), counter.NewShared(client, path, 0, o), counter.NewSequence(client, path, o)
	_, errs["Get"] = c.Get(ctx)
	_, errs["Add"] = c.Add(ctx, 1)
	_, errs["Increment"] = c.Increment(ctx)
	_, errs["Decrement"] = c.Decrement(ctx)
	errs["Set"] = c.Set(ctx, 1)
	_, errs["CompareAndSwap"] = c.CompareAndSwap(ctx, 0, 1)
	for _, err := range c.Watch(ctx) {
		errs["Watch"] = err
	}
	_, errs["Shared.Get"] = s.Get(ctx)
	errs["Shared.Set"] = s.Set(ctx, 1)
	_, errs["Shared.TrySet"] = s.TrySet(ctx, counter.VersionedValue{}, 1)
	for _, err := range s.Watch(ctx) {
		errs["Shared.Watch"] = err
	}
	_, errs["Next"] = q.Next(ctx)
	return errs
}

func TestCloseEndsAllWaitingCalls(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		sent := w.startAdd(w.Ctx, c, 1)
		waits := w.startAdd(w.Ctx, c, 1)
		over, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		_ = client.Close(over) // its server does not answer
		got := <-sent
		require.ErrorIs(w, got.err, session.ErrUnknownOutcome)
		require.ErrorIs(w, got.err, session.ErrClosed)
		got = <-waits
		require.ErrorIs(w, got.err, session.ErrClosed)
		require.NotErrorIs(w, got.err, session.ErrUnknownOutcome)
		_, err := c.Add(w.Ctx, 1)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

// A refusal is reported to all waiting callers, and to no later caller.
func TestRefusalIsReportedAndPasses(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(0))
		s := w.Session(w.Client())
		_, err := s.SetACL(w.Ctx, path, session.WorldACL(1), -1) // read
		require.NoError(w, err)
		c := counter.New(w.Client(), path, nil)
		_, err = c.Increment(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
		v, err := c.Get(w.Ctx)
		require.NoError(w, err)
		require.Zero(w, v)
		w.wipe()
		require.EqualValues(w, 1, w.add(c, 1))
	})
}

// The end of the run of some waiting callers must not end the calls of later callers.
func TestChangesThatComeAndGoAllTheTime(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		var mu sync.Mutex
		sure, unknown := int64(0), int64(0)
		var all sync.WaitGroup
		for i := range 40 {
			// Waited for below; ends after its additions.
			all.Go(func() {
				for j := range 30 {
					ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(1+(i*7+j*13)%40)*time.Millisecond)
					_, err := c.Increment(ctx)
					cancel()
					mu.Lock()
					switch history.FateOf(err) {
					case once:
						sure++
					case maybe:
						unknown++
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		w.Pass(time.Second)
		v, err := c.Get(w.Ctx)
		require.NoError(w, err)
		require.GreaterOrEqual(w, v, sure)
		require.LessOrEqual(w, v, sure+unknown)
		require.Positive(w, sure)
		require.Positive(w, unknown)
		require.Equal(w, v+1, w.add(c, 1))
	})
}
