package follow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const path = "/state"

// read reads the data of path, "" if it does not exist.
func read(ctx context.Context, s *session.Session) (string, *session.Watch, error) {
	for {
		_, ok, watch, err := s.ExistsW(ctx, path)
		if err != nil || !ok {
			return "", watch, err
		}
		watch.Stop()
		data, _, watch, err := s.GetW(ctx, path)
		if err == nil {
			return string(data), watch, nil
		}
		if ctx.Err() != nil || s.Err() != nil {
			return "", nil, err
		}
	}
}

func same(a, b string) bool { return a == b }

func states(ctx context.Context, c *session.Client) func(func(string, error) bool) {
	return follow.States(ctx, follow.Sessions{Client: c, WithoutQuorum: true}, path, read, same)
}

func set(t *testing.T, srv *zktest.Server, data string) {
	t.Helper()
	if err := srv.Create(path, []byte(data)); err != nil {
		require.NoError(t, srv.Set(path, []byte(data)))
	}
}

func TestFirstStateIsThePresentOneAndNewerOnesFollow(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var got []string
		steps := []func(){
			func() { set(w.T, w.Server, "a") },
			func() { set(w.T, w.Server, "a"); set(w.T, w.Server, "b"); set(w.T, w.Server, "c") },
			func() { require.NoError(w, w.Server.Delete(path)) },
		}
		for state, err := range states(w.Ctx, w.Client()) {
			require.NoError(w, err)
			got = append(got, state)
			if len(steps) == 0 {
				break
			}
			steps[0]()
			steps = steps[1:]
		}
		require.Equal(w, []string{"", "a", "c", ""}, got)
		w.Settle()
		require.Zero(w, w.Server.Stats().Watches)
	})
}

func TestStateIsFollowedOverLostConnectionsAndSessions(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		n := 0
		for state, err := range states(w.Ctx, c) {
			require.NoError(w, err)
			if n > 0 {
				require.Equal(w, strconv.Itoa(n), state)
			}
			if n++; n == 20 {
				break
			}
			if n%2 == 0 {
				w.Server.CutAll()
			} else {
				w.Expire(c)
			}
			set(w.T, w.Server, strconv.Itoa(n))
		}
		require.Equal(w, 20, n)
	})
}

func TestLoopEndsWithItsContextAndWithTheClient(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var last error
		for _, err := range states(w.Within(time.Minute), w.Client()) {
			last = err
		}
		require.ErrorIs(w, last, context.DeadlineExceeded)
		c := w.Client()
		for _, err := range states(w.Ctx, c) {
			if last = err; err == nil {
				require.NoError(w, c.Close(w.Ctx))
			}
		}
		require.ErrorIs(w, last, session.ErrClosed)
		w.Settle()
		require.Zero(w, w.Server.Stats().Watches)
	})
}

func TestBodyThatPanicsLeavesNoWatch(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		require.PanicsWithValue(w, "boom", func() {
			for range states(w.Ctx, c) {
				panic("boom")
			}
		})
		w.Settle()
		require.Zero(w, w.Server.Stats().Watches)
	})
}

func TestErrorThatATryWouldNotMendEndsTheLoop(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		n := 0
		refuse := func(context.Context, *session.Session) (string, *session.Watch, error) {
			n++
			return "", nil, session.ErrNoAuth
		}
		for _, err := range follow.States(w.Ctx, follow.Sessions{Client: w.Client()}, path, refuse, same) {
			require.ErrorIs(w, err, session.ErrNoAuth)
		}
		require.Equal(w, 1, n)
	})
}

// However servers lag and sessions end, no reader sees an older state after a
// newer one, and each sees the last.
func TestStatesNeverGoBack(t *testing.T) {
	const last = 60
	world.RunSeeds(t, world.Seeds(60), 3, func(w *world.World, seed uint64) error {
		r := rand.New(rand.NewPCG(seed, 1))
		c := w.Client()
		set(w.T, w.Server, "0")
		trouble, calm := context.WithTimeout(w.Ctx, time.Minute)
		defer calm()
		done := make(chan error, 1)
		// Waited for below; ends when trouble does.
		go func() {
			g := world.FaultInjector{Server: w.Server, Clients: 1, Servers: 3, Rand: rand.New(rand.NewPCG(seed, 2))}
			g.Run(trouble, 2*time.Second)
			done <- nil
		}()
		// Ends after its last write; waited for below.
		go func() {
			writer := w.Client()
			for n := 1; n <= last; n++ {
				world.SleepContext(w.Ctx, time.Duration(r.Int64N(int64(2*time.Second))))
				for {
					s, err := writer.Session(w.Ctx)
					if err == nil {
						_, err = s.Set(w.Ctx, path, []byte(strconv.Itoa(n)), -1)
					}
					if err == nil || w.Ctx.Err() != nil {
						break
					}
				}
			}
			done <- w.Ctx.Err()
		}()
		seen := -1
		for state, err := range states(w.Within(10*time.Minute), c) {
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(state)
			if err != nil || n < seen {
				return fmt.Errorf("%q after %d", state, seen)
			}
			if seen = n; seen == last {
				break
			}
		}
		for range 2 {
			if err := <-done; err != nil {
				return err
			}
		}
		return nil
	})
}
