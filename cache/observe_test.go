package cache_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// A view is loaded, loses its connection or session, and is loaded again; a view whose
// Run has ended is not current.
func TestEventsOfAViewUnderEveryFault(t *testing.T) {
	eachTrial(t, func(t *testing.T, shape string, oneShot bool) {
		tr := world.Trial{
			Name: "load, and follow", Excuses: []error{session.ErrUnknownOutcome}, // of the other client's write
			Setup: func(e *matrix.Env, _ *world.Party) error {
				return errors.Join(e.Server.Create("/m", nil), e.Server.Create("/m/d", []byte("1")))
			},
			Op: func(ctx context.Context, p *world.Party) error {
				v := shapes(p.Tested)[shape]
				return during(v, ctx, func(ctx context.Context) error {
					if err := v.WaitSynced(ctx); err != nil {
						return err
					}
					other, err := p.Other.Session(ctx)
					if err == nil {
						_, err = other.Set(ctx, "/m/d", []byte("2"), -1)
					}
					if err != nil {
						return err
					}
					world.Pause(time.Minute) // a dead connection is noticed
					return v.WaitSynced(ctx)
				})
			},
		}
		file := shape
		if oneShot {
			tr.Options, file = &zktest.Options{OldServer: true}, shape+"-one-shot"
		}
		tr.RunObserved(t, *update, file)
	})
}

// cacheEvents are the events of caches that an observer was told of.
type cacheEvents chan observe.Event

func (c cacheEvents) Observe(_ context.Context, e observe.Event) {
	switch e.(type) {
	case observe.CacheBegun, observe.CacheSynced, observe.CacheStale, observe.CacheEnded:
		c <- e
	}
}

func TestEventsOfAViewSayWhatHappened(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "", "/t/a", "1", "/t/b", "2")
		events := make(cacheEvents, 100)
		c := w.ClientWith(session.Options{Observer: events})
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		v := run(w, cache.NewTree(c, "/t", text, nil).View)
		v.synced(w)
		w.Settle()
		id := (<-events).(observe.CacheBegun).Cache
		require.NotZero(w, id)
		first := (<-events).(observe.CacheSynced)
		require.Equal(w, observe.CacheSynced{Cache: id, Path: "/t", Entries: 3, Took: first.Took}, first)
		require.Positive(w, first.Took)
		put(w, "/t/c", "3")
		w.Pass(time.Minute)
		require.Empty(w, events, "a change is no interruption")

		link := zktest.Link{Client: "c1"}
		w.Server.BlackHole(link, zktest.Both)
		w.Server.CutLink(link)
		w.Settle()
		stale := (<-events).(observe.CacheStale)
		require.Equal(w, "/t", stale.Path)
		require.Equal(w, id, stale.Cache)
		require.Error(w, stale.Err)
		require.NotErrorIs(w, stale.Err, session.ErrLost)
		put(w, "/t/d", "4")
		w.Pass(time.Second)
		require.Empty(w, events)
		w.Server.HealLink(link)
		v.synced(w)
		w.Settle()
		again := (<-events).(observe.CacheSynced)
		require.Equal(w, observe.CacheSynced{Cache: id, Path: "/t", Entries: 5, Took: again.Took, Again: true}, again)
		require.InDelta(w, 2*time.Second, again.Took, float64(time.Second))

		w.Expire(c)
		w.Pass(time.Minute)
		require.IsType(w, observe.CacheStale{}, <-events)
		require.IsType(w, observe.CacheSynced{}, <-events)
		require.NoError(w, v.stop())
		require.ErrorIs(w, (<-events).(observe.CacheStale).Err, context.Canceled)
		ended := (<-events).(observe.CacheEnded)
		require.Equal(w, observe.CacheEnded{Cache: id, Path: "/t", Err: ended.Err}, ended)
		require.ErrorIs(w, ended.Err, context.Canceled)
		require.Empty(w, events)

		v = run(w, v.View)
		v.synced(w)
		w.Settle()
		require.Equal(w, observe.CacheBegun{Cache: id, Path: "/t"}, <-events)
		require.True(w, (<-events).(observe.CacheSynced).Again)
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, <-v.ended, session.ErrClosed)
		require.Error(w, (<-events).(observe.CacheStale).Err)
		require.Error(w, (<-events).(observe.CacheEnded).Err)
		require.Empty(w, events)
	})
}

// A view whose connection comes and goes at any moment is reported as its status says.
func TestEventsOfAViewAgreeWithItsStatus(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "")
		var current atomic.Bool
		c := w.ClientWith(session.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
			switch e.(type) {
			case observe.CacheSynced:
				current.Store(true)
			case observe.CacheStale:
				current.Store(false)
			}
		})})
		v := run(w, cache.NewTree(c, "/t", text, nil).View)
		v.synced(w)
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		for n := range 200 {
			w.Server.CutLink(zktest.Link{Client: "c1"})
			if n%7 == 0 {
				_ = w.Server.ExpireSession(c.State().Session) // unless the session is over
			}
			w.Pass(time.Duration(n) * time.Millisecond)
			require.Equal(w, v.Status().Synced, current.Load(), n)
		}
		v.synced(w)
		w.Settle()
		require.True(w, current.Load())
		require.NoError(w, v.stop())
		require.False(w, current.Load())
	})
}

// An observer may read the view that reports to it.
func TestObserverMayReadTheView(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "1")
		var v *cache.View[string]
		synced := 0
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			switch e.(type) {
			case observe.CacheSynced:
				synced++
				require.NoError(w, v.WaitSynced(ctx))
				_ = v.Status()
			case observe.CacheStale:
				require.ErrorIs(w, v.Run(context.WithoutCancel(ctx)), cache.ErrRunning)
			default:
				return
			}
			_, ok := v.Lookup("/t")
			require.True(w, ok)
			require.Equal(w, 1, v.Snapshot().Len())
		})})
		v = cache.NewTree(c, "/t", text, nil).View
		r := run(w, v)
		r.synced(w)
		w.Settle() // until it is reported
		require.NoError(w, w.Server.Stop(1))
		w.Pass(20 * time.Second) // the session is lost
		require.NoError(w, w.Server.Restart(1))
		w.Pass(time.Minute)
		r.synced(w)
		require.NoError(w, r.stop())
		require.GreaterOrEqual(w, synced, 2)
	})
}

// A Run whose context ends for a cause, as that of an errgroup, has not failed.
func TestEndOfAViewByACauseIsThatOfItsContext(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/t", nil))
		events := make(cacheEvents, 100)
		v := cache.NewTree(w.ClientWith(session.Options{Observer: events}), "/t", text, nil)
		ctx, stop := context.WithCancelCause(w.Ctx)
		ended := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { ended <- v.Run(ctx) }()
		require.NoError(w, v.WaitSynced(w.Ctx))
		w.Settle()
		errOther := errors.New("another goroutine has failed")
		stop(errOther)
		require.NoError(w, <-ended)
		require.IsType(w, observe.CacheBegun{}, <-events)
		require.IsType(w, observe.CacheSynced{}, <-events)
		for _, err := range []error{(<-events).(observe.CacheStale).Err, (<-events).(observe.CacheEnded).Err} {
			require.ErrorIs(w, err, context.Canceled)
			require.ErrorIs(w, err, errOther)
			require.True(w, observe.IsContextEnd(err))
		}
	})
}

func TestEventsOfAViewCanHaveAnotherPath(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/workers", nil))
		require.NoError(w, w.Server.Create("/workers/7c6e80f5628248db", nil))
		events := make(cacheEvents, 100)
		c := w.ClientWith(session.Options{Observer: events})
		v := run(w, cache.NewTree(c, "/workers/7c6e80f5628248db", text, &cache.Options{EventPath: "/workers"}).View)
		v.synced(w)
		w.Settle()
		require.NoError(w, v.stop())
		require.Equal(w, "/workers", (<-events).(observe.CacheBegun).Path)
		require.Equal(w, "/workers", (<-events).(observe.CacheSynced).Path)
		require.Equal(w, "/workers", (<-events).(observe.CacheStale).Path)
		require.Equal(w, "/workers", (<-events).(observe.CacheEnded).Path)
		require.Equal(w, "/workers/7c6e80f5628248db", v.Path())
	})
}
