package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// P12, CH37: a party too many gets an error when all others are inside, without
// disturbing
// them.
func TestOneTooManyIsTold_P12_CH37(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(3, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		w.ResetStats()
		_, err := all[2].Enter(w.Ctx)
		require.ErrorIs(w, err, barrier.ErrTooMany)
		require.ErrorContains(w, err, "all 2 of round 1 are inside")
		require.Len(w, w.Children(dir), 2)
		w.Pass(time.Hour)
		require.LessOrEqual(w, w.Requests(clients[2]), 7, "no further requests: %v", w.counts(clients[2]))
		for _, s := range seats {
			require.NoError(w, s.Context().Err())
		}
		a := w.leave(w.Ctx, seats[0])
		pending(w, a)
		w.left(w.leave(w.Ctx, seats[1]), a)
		w.clean()
	})
}

// A newcomer from before the round was complete waits for nothing, and gets the
// error, too.
func TestNewcomerAfterADeathIsLetInWithTheRest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(3, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		w.Expire(clients[1])
		w.Settle()
		out := w.enter(w.Ctx, all[2])
		pending(w, out)
		other := w.enter(w.Ctx, all[1])
		pending(w, other)
		w.left(w.leave(w.Ctx, seats[0])) // no party arrives, and the two must notice
		w.seats(2, out, other)
	})
}

// P12: more parties than a Barrier has pass in turns, under disturbances.
func TestMorePartiesThanABarrierHasPassInTurns_P12(t *testing.T) {
	for extra := range 4 {
		t.Run(fmt.Sprint(extra), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				const parties = 3
				all, _ := w.barriers(parties+extra, parties, nil)
				ctx, cancel := context.WithCancel(w.Ctx)
				defer cancel()
				var mu sync.Mutex
				rounds := map[int64]int{}
				var wg sync.WaitGroup
				for _, b := range all {
					// Waited for below; ends with ctx.
					wg.Go(func() {
						for ctx.Err() == nil {
							round, err := b.Await(ctx)
							if err != nil {
								if !errors.Is(err, context.Canceled) {
									t.Error(err)
								}
								return
							}
							mu.Lock()
							rounds[round]++
							mu.Unlock()
							world.SleepContext(ctx, time.Millisecond)
						}
					})
				}
				world.Pause(time.Millisecond) // the path exists
				for i := range 100 {
					require.NoError(w, w.Server.Create(fmt.Sprintf("%s/noise%d", dir, i), nil))
					world.Pause(time.Millisecond)
				}
				cancel()
				wg.Wait()
				require.Greater(t, len(rounds), 30)
				last := slices.Max(slices.Collect(maps.Keys(rounds)))
				for round, n := range rounds {
					require.LessOrEqual(t, n, parties)
					// At the end of ctx, some parties may not know of their round
					// yet: the parties of the last round, or of the rounds released
					// at the same instant.
					if round <= last-int64(len(all)/parties) {
						require.Equal(t, parties, n, "all parties of round %d pass", round)
					}
				}
			})
		})
	}
}

func TestThousandPartiesMeet(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 1000
		clients := []*barrier.Barrier{}
		for range 4 {
			clients = append(clients, barrier.New(w.Client(), dir, n, nil))
		}
		for want := int64(1); want <= 2; want++ {
			errs := make(chan error, n)
			for i := range n {
				// Waited for below; ends when all have arrived.
				go func() {
					round, err := clients[i%4].Await(w.Ctx)
					if err == nil && round != want {
						err = fmt.Errorf("round %d", round)
					}
					errs <- err
				}()
			}
			for range n {
				require.NoError(w, <-errs)
			}
		}
		w.clean()
	})
}

func TestMorePartiesThanFitIntoOneRequestAreRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.ResetStats()
		for _, n := range []int{20_000, math.MaxInt, math.MaxInt/2 + 1} {
			_, err := barrier.New(c, dir, n, nil).Await(w.Within(time.Minute))
			require.ErrorIs(w, err, barrier.ErrInvalidArgument, n)
			require.ErrorContains(w, err, "parties")
		}
		require.Zero(w, w.Requests(c))
	})
}

func TestWrongArgumentsAreReportedAndNothingIsSent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.ResetStats()
		for want, f := range map[string]func() error{
			"parties is 0":  func() error { _, err := barrier.New(c, dir, 0, nil).Await(w.Ctx); return err },
			"parties is -1": func() error { _, err := barrier.NewDouble(c, dir, -1, nil).Enter(w.Ctx); return err },
			"path":          func() error { _, err := barrier.New(c, "", 2, nil).Await(w.Ctx); return err },
			"the root":      func() error { _, err := barrier.New(c, "/", 2, nil).Waiting(w.Ctx); return err },
			"client is nil": func() error { _, err := barrier.New(nil, dir, 2, nil).Await(w.Ctx); return err },
			"has a slash": func() error {
				_, err := barrier.New(c, dir, 2, &barrier.Options{ID: "a/b"}).Await(w.Ctx)
				return err
			},
			"129 bytes": func() error {
				_, err := barrier.NewDouble(c, dir, 2, &barrier.Options{ID: strings.Repeat("x", 129)}).Enter(w.Ctx)
				return err
			},
			"relative":    func() error { return barrier.NewGate(c, "a", nil).Set(w.Ctx) },
			"ends with":   func() error { return barrier.NewGate(c, "/a/", nil).Wait(w.Ctx) },
			"look " + dir: func() error { _, err := barrier.NewGate(nil, dir, nil).Closed(w.Ctx); return err },
		} {
			err := f()
			require.ErrorIs(w, err, barrier.ErrInvalidArgument, want)
			require.ErrorContains(w, err, want)
		}
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		_, err := barrier.New(c, dir, 2, nil).Await(over)
		require.ErrorIs(w, err, context.Canceled)
		_, err = barrier.NewDouble(c, dir, 2, nil).Enter(over)
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, barrier.NewGate(c, dir, nil).Set(over), context.Canceled)
		require.Zero(w, w.Requests(c))
		require.Equal(w, dir, barrier.New(c, dir, 2, nil).Path()+barrier.NewGate(c, "/", nil).Path()[1:])
	})
}

// A party whose kind or number of parties differs from the path's record is refused,
// changes nothing, and leaves no znode behind.
func TestAnotherBarrierOnThePathIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(2, 2, nil)
		first := w.await(w.Ctx, all[0])
		before, err := w.Server.Get(dir)
		require.NoError(w, err)
		c := w.Client()
		_, err = barrier.New(c, dir, 3, nil).Await(w.Ctx)
		require.ErrorIs(w, err, barrier.ErrParties)
		require.ErrorContains(w, err, "3 here, but the path says 2")
		_, err = barrier.NewDouble(c, dir, 2, nil).Enter(w.Ctx)
		require.ErrorIs(w, err, barrier.ErrRecord)
		_, err = barrier.NewDouble(c, dir, 2, nil).Waiting(w.Ctx)
		require.ErrorIs(w, err, barrier.ErrRecord)
		require.NoError(w, w.Server.Create("/foreign", []byte("10.0.0.1")))
		_, err = barrier.New(c, "/foreign", 2, nil).Await(w.Ctx)
		require.ErrorIs(w, err, barrier.ErrRecord)
		require.Empty(w, w.Children("/foreign"))
		after, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.Equal(w, before.Data, after.Data)
		require.Len(w, w.Children(dir), 1)
		// A party already waiting gets the error, too.
		require.NoError(w, w.Server.Set(dir, []byte("?")))
		require.ErrorIs(w, (<-first).err, barrier.ErrRecord)
		w.clean()
	})
}

func TestWaitingListsThePartiesThatWaitAndThePartiesInside(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		none, err := barrier.New(w.Client(), dir, 2, nil).Waiting(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, none)
		began := time.Now()
		clients := []*barrier.Double{}
		for _, id := range []string{"a", "b", "c"} {
			clients = append(clients, barrier.NewDouble(w.Client(), dir, 2, &barrier.Options{ID: id, Data: []byte("data of " + id)}))
		}
		seats := w.seats(1, w.enter(w.Ctx, clients[0]), w.enter(w.Ctx, clients[1]))
		x := w.leave(w.Ctx, seats[0])
		third := w.enter(w.Ctx, clients[2])
		list, err := clients[2].Waiting(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 2)
		require.Equal(w, "b", list[0].ID)
		require.True(w, list[0].Inside)
		require.Equal(w, seats[1].Token(), list[0].Token)
		require.Equal(w, seats[1].Session().ID(), list[0].Session)
		require.Equal(w, seats[1].Path(), dir+"/"+list[0].Name)
		require.Equal(w, "c", list[1].ID)
		require.False(w, list[1].Inside)
		require.Equal(w, "data of c", string(list[1].Data))
		require.Less(w, list[0].Seq, list[1].Seq)
		require.WithinDuration(w, began, list[1].Since, time.Second)
		w.left(w.leave(w.Ctx, seats[1]), x)
		w.seats(2, third, w.enter(w.Ctx, clients[0]))
	})
}

func TestGuardRefusesOnceTheSeatIsGivenBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		d := barrier.NewDouble(c, dir, 1, nil)
		seat, err := d.Enter(w.Ctx)
		require.NoError(w, err)
		s := w.Session(c)
		_, err = s.Txn(w.Ctx, seat.Guard())
		require.NoError(w, err)
		require.NoError(w, seat.Leave(w.Ctx))
		_, err = s.Txn(w.Ctx, seat.Guard())
		require.Error(w, err)
		next, err := d.Enter(w.Ctx)
		require.NoError(w, err)
		require.Greater(w, next.Token(), seat.Token())
		require.NoError(w, next.Leave(w.Ctx))
	})
}
