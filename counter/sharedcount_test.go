package counter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CH39: the first seed counts for all clients, at version 0 as well.
func TestFirstSeedCounts_CH39(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.NewShared(w.Client(), path, 10, nil), counter.NewShared(w.Client(), path, 20, nil)
		first, err := a.Get(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, 10, first.Value)
		require.Zero(w, first.Version)
		second, err := b.Get(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, first, second)
		for v, err := range b.Watch(w.Ctx) {
			require.NoError(w, err)
			require.Equal(w, first, v)
			break
		}
		ok, err := b.TrySet(w.Ctx, second, 21)
		require.NoError(w, err)
		require.True(w, ok)
	})
}

// A foreign node is accepted unchanged; without data its value is 0.
func TestExistingValueIsTaken_CH39(t *testing.T) {
	for name, tc := range map[string]struct {
		data []byte
		want int32
	}{"value": {[]byte{0, 0, 0, 9}, 9}, "empty": {nil, 0}, "negative": {[]byte{255, 255, 255, 255}, -1}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.make(tc.data)
				c := counter.NewShared(w.Client(), path, 5, nil)
				v, err := c.Get(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, tc.want, v.Value)
			})
		})
	}
}

// CH39: a watcher gets the values set while the watcher, or the server, was
// away, and nothing blocks meanwhile.
func TestWatcherIsUpToDateAfterAReconnect_CH39(t *testing.T) {
	for name, away := range map[string]func(w *World){
		"cut":        func(w *World) { w.Server.CutLink(zktest.Link{Client: "c1"}) },
		"black hole": func(w *World) { w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) },
		"restart": func(w *World) {
			require.NoError(w, w.Server.Stop(1))
			w.Pass(3 * time.Second)
			require.NoError(w, w.Server.Restart(1))
		},
		"expired": func(w *World) { require.NoError(w, w.Server.ExpireSession(w.Server.Sessions()[0].ID)) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.make([]byte{0, 0, 0, 1})
				watcher := counter.NewShared(w.Client(), path, 1, nil)
				n := byte(1)
				for v, err := range watcher.Watch(w.Within(10 * time.Minute)) {
					require.NoError(w, err)
					require.EqualValues(w, n, v.Value)
					if n++; n == 5 {
						break
					}
					w.Settle()
					away(w)
					require.NoError(w, w.Server.Set(path, []byte{0, 0, 0, n}))
					w.Pass(15 * time.Second)
					w.Server.Heal()
				}
				require.EqualValues(w, 5, n)
			})
		})
	}
}

func TestTrySetFailsOnceAnotherClientHasSet(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.NewShared(w.Client(), path, 1, nil), counter.NewShared(w.Client(), path, 1, nil)
		seen, err := a.Get(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, b.Set(w.Ctx, 1), "the same number")
		ok, err := a.TrySet(w.Ctx, seen, 2)
		require.NoError(w, err)
		require.False(w, ok)
		seen, err = a.Get(w.Ctx)
		require.NoError(w, err)
		ok, err = a.TrySet(w.Ctx, seen, 2)
		require.NoError(w, err)
		require.True(w, ok)
		ok, err = b.TrySet(w.Ctx, seen, 3)
		require.NoError(w, err)
		require.False(w, ok)
		now, err := b.Get(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, 2, now.Value)
		require.Greater(w, now.Zxid, seen.Zxid)
	})
}

func TestOneOfManyTrySetsSucceeds(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first := counter.NewShared(w.Client(), path, 1, nil)
		seen, err := first.Get(w.Ctx)
		require.NoError(w, err)
		won := make(chan bool, 12)
		for i := range 4 {
			c := counter.NewShared(w.Client(), path, 1, nil)
			for j := range 3 {
				// Its answer is waited for below; ends with the call.
				go func() {
					ok, err := c.TrySet(w.Ctx, seen, int32(10*i+j))
					if err != nil {
						w.Error(err)
					}
					won <- ok
				}()
			}
		}
		n := 0
		for range cap(won) {
			if <-won {
				n++
			}
		}
		require.Equal(w, 1, n)
	})
}

func TestSharedThatIsNoNumberIsRefusedAndSetRepairsIt(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make([]byte("12345"))
		c := counter.NewShared(w.Client(), path, 1, nil)
		_, err := c.Get(w.Ctx)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		for _, err := range c.Watch(w.Ctx) {
			require.ErrorIs(w, err, counter.ErrCorrupt)
		}
		w.Settle()
		w.RequireNoWatches()
		require.NoError(w, c.Set(w.Ctx, 7))
		require.Equal(w, []byte{0, 0, 0, 7}, w.node().Data)
	})
}

func TestSharedIsMadeAgainWithItsSeed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.NewShared(w.Client(), path, 3, nil)
		n := 0
		for v, err := range c.Watch(w.Ctx) {
			require.NoError(w, err)
			switch n++; n {
			case 1, 3:
				require.EqualValues(w, 3, v.Value)
				if n == 3 {
					return
				}
				require.NoError(w, c.Set(w.Ctx, 8))
			case 2:
				require.EqualValues(w, 8, v.Value)
				w.wipe()
			}
		}
	})
}

func TestPathsAreKept(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		require.Equal(w, path, counter.New(client, path, nil).Path())
		require.Equal(w, path, counter.NewShared(client, path, 0, nil).Path())
		require.Equal(w, path, counter.NewSequence(client, path, nil).Path())
	})
}

func TestGetWaitsWithinItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		_, err := counter.NewShared(client, path, 0, nil).Get(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		_, err = counter.New(client, path, nil).Get(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.Server.Heal()
	})
}
