package value_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// increment is a function for Update that counts.
func increment(data []byte) ([]byte, error) {
	n, err := strconv.Atoi(string(data))
	return strconv.AppendInt(nil, int64(n+1), 10), err
}

func TestUpdatesOfManyGoroutinesShareWrites(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		v := value.New(client, path, &value.Options{Seed: []byte("0")})
		w.get(v)
		w.set(v, "0")
		w.slowly()
		w.ResetStats()
		var mu sync.Mutex
		var got []int
		var all sync.WaitGroup
		for range 100 {
			// Waited for below; ends with its update.
			all.Go(func() {
				data, err := v.Update(w.Ctx, increment)
				if err != nil {
					w.Error(err)
				}
				n, _ := strconv.Atoi(string(data))
				mu.Lock()
				got = append(got, n)
				mu.Unlock()
			})
		}
		all.Wait()
		slices.Sort(got)
		for i, n := range got {
			require.Equal(w, i+1, n)
		}
		require.LessOrEqual(w, w.Server.Stats().BySession[w.ID(client)]["multi"], 2)
		w.Server.Heal()
		w.holds("100")
	})
}

// The function decides on the present bytes, not on those of a former write; an error and
// unchanged bytes write nothing.
func TestFunctionOfUpdateDecidesOnThePresentBytes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "taken")
		w.overwrite("free")
		errTaken := errors.New("it is taken")
		take := func(data []byte) ([]byte, error) {
			if string(data) == "taken" {
				return nil, errTaken
			}
			return []byte("taken"), nil
		}
		got, err := v.Update(w.Ctx, take)
		require.NoError(w, err)
		require.Equal(w, "taken", string(got))
		before := w.node().Mzxid
		got, err = v.Update(w.Ctx, take)
		require.ErrorIs(w, err, errTaken)
		require.EqualError(w, err, "value: update /values/a: it is taken")
		require.Nil(w, got)
		w.add(v, "", "taken")
		require.Equal(w, before, w.node().Mzxid, "nothing was written")
	})
}

// Another client writes between the read and the write: the function is called again, with
// the new bytes.
func TestFunctionOfUpdateIsCalledAgainAfterALostRace(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "a")
		w.Once(writes, func() { w.overwrite("b") })
		var seen []string
		got, err := v.Update(w.Ctx, func(data []byte) ([]byte, error) {
			seen = append(seen, string(data))
			return append(data, '!'), nil
		})
		require.NoError(w, err)
		require.Equal(w, []string{"a", "b"}, seen)
		require.Equal(w, "b!", string(got))
	})
}

// A panic of the function is the caller's, and so is the end of its goroutine. Other callers
// go on, without the change.
func TestPanicOfTheFunctionIsItsCallersOwn(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				v := value.New(w.Client(), path, nil)
				w.set(v, "a")
				w.slowly()
				busy := w.startCall(func() error { return v.Set(w.Ctx, []byte("b")) })
				ended := make(chan any, 1)
				// Waited for below; ends with the function.
				go func() {
					defer func() { ended <- recover() }()
					_, _ = v.Update(w.Ctx, func(data []byte) ([]byte, error) { end(); return nil, nil })
				}()
				w.Settle()
				other := w.startCall(func() error { _, err := v.Update(w.Ctx, adds("c")); return err })
				require.NoError(w, <-busy)
				got := <-ended
				require.Equal(w, name == "panic", got == "mine")
				require.NoError(w, <-other)
				w.Server.Heal()
				w.holds("bc")
				w.add(v, "d", "bcd")
			})
		})
	}
}

// While the function runs, its caller does not leave, and the function is never called after
// the return. A caller that leaves then knows that its change was not made.
func TestCallerThatLeavesWhileChangesArePlannedHasNotMadeItsChange(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "a")
		inside, leave := make(chan struct{}), make(chan struct{})
		calls := 0
		slow := w.startCall(func() error {
			_, err := v.Update(w.Ctx, func(data []byte) ([]byte, error) {
				if calls++; calls == 1 {
					close(inside)
					<-leave
				}
				return append(data, 'b'), nil
			})
			return err
		})
		<-inside
		ctx, cancel := context.WithCancel(w.Ctx)
		called := false
		waits := w.startCall(func() error {
			_, err := v.Update(ctx, func(data []byte) ([]byte, error) { called = true; return data, nil })
			return err
		})
		plain := w.startCall(func() error { return v.Set(ctx, []byte("z")) })
		cancel()
		for _, left := range []<-chan error{waits, plain} {
			err := <-left
			require.ErrorIs(w, err, context.Canceled)
			require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		}
		close(leave)
		require.NoError(w, <-slow)
		require.False(w, called)
		w.holds("ab")
	})
}

// Several callers are in one batch, and one leaves while the function of another one runs:
// the batch is planned again, without the change of the caller that has left.
func TestBatchIsPlannedAgainWithoutACallerThatHasLeft(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "a")
		w.slowly()
		busy := w.startCall(func() error { return v.Set(w.Ctx, []byte("b")) })
		ctx, cancel := context.WithCancel(w.Ctx)
		early := w.startCall(func() error { _, err := v.Update(ctx, adds("x")); return err })
		calls := 0
		late := w.startCall(func() error {
			_, err := v.Update(w.Ctx, func(data []byte) ([]byte, error) {
				if calls++; calls == 1 {
					cancel()
					w.Pass(time.Second) // the caller leaves
				}
				return append(data, 'c'), nil
			})
			return err
		})
		require.NoError(w, <-busy)
		err := <-early
		require.ErrorIs(w, err, context.Canceled)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		require.NoError(w, <-late)
		require.Equal(w, 2, calls)
		w.Server.Heal()
		w.holds("bc")
	})
}

// The session ends while a function runs: its result is written in the next session.
func TestSessionMayEndWhileTheFunctionRuns(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		v := value.New(client, path, nil)
		w.set(v, "a")
		calls := 0
		got, err := v.Update(w.Ctx, func(data []byte) ([]byte, error) {
			if calls++; calls == 1 {
				w.Expire(client)
				w.Pass(time.Minute)
			}
			return append(data, 'b'), nil
		})
		require.NoError(w, err)
		require.Equal(w, "ab", string(got))
		require.Equal(w, 2, calls)
		w.holds("ab")
	})
}

// The client is closed while the function runs.
func TestCloseWhileTheFunctionRunsEndsUpdate(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		v := value.New(client, path, nil)
		w.set(v, "a")
		_, err := v.Update(w.Ctx, func(data []byte) ([]byte, error) {
			require.NoError(w, client.Close(w.Ctx))
			return append(data, 'b'), nil
		})
		require.ErrorIs(w, err, session.ErrClosed)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		w.holds("a")
	})
}

// A function that waits for a change of its own Value is stuck until the inner context ends.
func TestInnerChangeEndsWithItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, nil)
		w.set(v, "a")
		var inner error
		got, err := v.Update(w.Ctx, func(data []byte) ([]byte, error) {
			_, err := v.Get(w.Ctx)
			require.NoError(w, err, "reads do not wait")
			inner = v.Set(w.Within(time.Second), []byte("x"))
			return append(data, 'b'), nil
		})
		require.NoError(w, err)
		require.Equal(w, "ab", string(got))
		require.ErrorIs(w, inner, context.DeadlineExceeded)
		require.NotErrorIs(w, inner, session.ErrUnknownOutcome)
	})
}

// Callers come and go while writes are slow: each change was made once, or not, as reported.
func TestUpdatesThatComeAndGoAllTheTime(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		v := value.New(w.Client(), path, &value.Options{Seed: []byte("0")})
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		var mu sync.Mutex
		count := map[fate]int{}
		var all sync.WaitGroup
		for i := range 20 {
			// Waited for below; ends after its updates.
			all.Go(func() {
				for j := range 20 {
					ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(1+(i*7+j*13)%40)*time.Millisecond)
					returned := false
					_, err := v.Update(ctx, func(data []byte) ([]byte, error) {
						if returned {
							w.Error("the function is called after the return")
						}
						return increment(data)
					})
					returned = true
					cancel()
					mu.Lock()
					count[history.FateOf(err)]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		w.Pass(time.Second)
		w.Server.Heal()
		n, err := strconv.Atoi(string(w.get(v).Data))
		require.NoError(w, err)
		require.GreaterOrEqual(w, n, count[once])
		require.LessOrEqual(w, n, count[once]+count[maybe])
		require.Positive(w, count[once])
		require.Positive(w, count[maybe])
		require.Positive(w, count[never])
	})
}
