package provider_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const service = "web"

var errBroken = errors.New("broken")

// World is a world with a registry, whose client is c1, and a provider's client,
// c2.
type World struct {
	*world.World
	registry *discovery.Registry
	client   *session.Client
	user     *session.Client
}

func inWorld(t *testing.T, body func(w *World)) {
	t.Helper()
	world.In(t, nil, func(ww *world.World) {
		w := &World{World: ww}
		w.client, w.user = w.Client(), w.Client()
		w.registry = discovery.NewRegistry(w.client, "/services", nil)
		body(w)
	})
}

// run makes a provider that runs until the end of the world.
func (w *World) run(picker provider.Picker, o *provider.Options) *provider.Provider {
	p := provider.New(discovery.NewRegistry(w.user, "/services", nil), service, picker, o)
	ctx, cancel := context.WithCancel(w.Ctx)
	over := make(chan struct{})
	// Waited for when the world ends; ends with ctx.
	go func() { defer close(over); _ = p.Run(ctx) }()
	w.Cleanup(func() { cancel(); <-over })
	return p
}

func (w *World) register(id string, edit ...func(*discovery.Instance)) *discovery.Registration {
	w.Helper()
	i := discovery.Instance{Service: service, ID: id}
	for _, e := range edit {
		e(&i)
	}
	g, err := w.registry.Register(w.Ctx, i)
	require.NoError(w, err)
	return g
}

// get picks once, and says how the use ended.
func (w *World) get(p *provider.Provider, outcome error) string {
	w.Helper()
	l, err := p.Get(w.Ctx)
	require.NoError(w, err)
	l.Done(outcome)
	return l.Instance().ID
}

func (w *World) gets(p *provider.Provider, n int) string {
	w.Helper()
	out := ""
	for range n {
		out += w.get(p, nil)
	}
	return out
}

// D9: a client finds an instance through the registry, and the next one when that
// has gone.
func TestGetPicksWhatIsRegisteredNow_D9(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), nil)
		_, err := p.Get(w.Ctx)
		require.ErrorIs(w, err, provider.ErrNoInstance)
		a := w.register("a")
		w.register("b")
		w.register("off", func(i *discovery.Instance) { i.Disabled = true })
		require.NoError(w, w.Server.Create("/services/web/bad", []byte("{")))
		w.Settle()
		require.Equal(w, "abab", w.gets(p, 4))
		require.NoError(w, a.Unregister(w.Ctx))
		w.Settle()
		require.Equal(w, "bb", w.gets(p, 2))
		all, err := p.All(w.Ctx)
		require.NoError(w, err)
		require.Len(w, all, 1)
	})
}

func TestGetAsksNothingOfTheServer(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.Random(), nil)
		w.register("a")
		w.register("b")
		w.Settle()
		w.ResetStats()
		w.gets(p, 1000)
		require.Zero(w, w.Requests(w.user))
	})
}

// The list stays at hand while ZooKeeper is away, and says how old it is.
func TestListIsStaleButAvailableWhileZooKeeperIsAway(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), nil)
		w.register("a")
		w.Pass(time.Second)
		require.True(w, p.Status().Synced)
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both)
		w.Pass(time.Minute)
		require.Equal(w, "aa", w.gets(p, 2))
		require.False(w, p.Status().Synced)
		require.Greater(w, p.Status().Stale, 50*time.Second)
		w.register("b")
		w.Server.Heal()
		w.Pass(20 * time.Second)
		require.True(w, p.Status().Synced)
		require.Less(w, p.Status().Stale, 10*time.Second)
		require.Contains(w, []string{"ab", "ba"}, w.gets(p, 2))
	})
}

func TestInstanceThatFailsIsSetAsideForAWhile(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), nil)
		w.register("a")
		w.register("b")
		w.Settle()
		require.Equal(w, "a", w.get(p, errBroken))
		require.Equal(w, "b", w.get(p, nil))
		require.Equal(w, "a", w.get(p, errBroken), "one failure is not enough")
		require.Equal(w, "bbb", w.gets(p, 3))
		w.Pass(provider.DefaultDownFor - time.Second)
		require.Equal(w, "bb", w.gets(p, 2))
		w.Pass(time.Second)
		require.Equal(w, "abab", w.gets(p, 4))
		// A success between two failures forgets the first.
		require.Equal(w, "a", w.get(p, errBroken))
		require.Equal(w, "bab", w.gets(p, 3))
		require.Equal(w, "a", w.get(p, errBroken))
		require.Equal(w, "bab", w.gets(p, 3))
	})
}

func TestAllBeingDownTheyAreUsedNevertheless(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), &provider.Options{DownThreshold: 1, DownFor: time.Minute})
		w.register("a")
		w.register("b")
		w.Settle()
		require.Equal(w, "a", w.get(p, errBroken))
		require.Equal(w, "b", w.get(p, errBroken))
		w.Pass(time.Second)
		require.Equal(w, "aa", w.gets(p, 2), "and a success counts")
	})
}

func TestInstanceThatRegistersAgainIsNotDown(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), &provider.Options{DownThreshold: 1})
		a := w.register("a")
		w.register("b")
		w.Settle()
		require.Equal(w, "a", w.get(p, errBroken))
		require.Equal(w, "bb", w.gets(p, 2))
		require.NoError(w, a.Unregister(w.Ctx))
		w.register("a")
		w.Settle()
		require.Contains(w, []string{"ab", "ba"}, w.gets(p, 2))
	})
}

func TestNegativeThresholdSetsNothingAside(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), &provider.Options{DownThreshold: -1})
		w.register("a")
		w.register("b")
		w.Settle()
		for range 10 {
			require.Equal(w, "a", w.get(p, errBroken))
			require.Equal(w, "b", w.get(p, nil))
		}
	})
}

func TestLeasesAreCountedUntilTheyAreDoneOnce(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.FewestInFlight(), nil)
		w.register("a")
		w.register("b")
		w.Settle()
		one, err := p.Get(w.Ctx)
		require.NoError(w, err)
		two, err := p.Get(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, "a", one.Instance().ID)
		require.Equal(w, "b", two.Instance().ID)
		one.Done(nil)
		one.Done(nil)
		require.Equal(w, "aaa", w.gets(p, 3))
		two.Done(errBroken)
		two.Done(errBroken) // counts once, so it is not down
		require.Contains(w, []string{"ab", "ba"}, w.gets(p, 2))
	})
}

func TestFilterDecidesWhichInstancesMayBeUsed(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.RoundRobin(), &provider.Options{Filter: func(i discovery.Instance) bool { return string(i.Payload) == `"eu"` }})
		w.register("a", func(i *discovery.Instance) { i.Payload = []byte(`"us"`) })
		w.register("b", func(i *discovery.Instance) { i.Payload = []byte(`"eu"`) })
		w.Settle()
		require.Equal(w, "bb", w.gets(p, 2))
	})
}

func TestGetWaitsForTheFirstListWithinItsContext(t *testing.T) {
	inWorld(t, func(w *World) {
		w.register("a")
		p := provider.New(discovery.NewRegistry(w.user, "/services", nil), service, provider.Random(), nil)
		_, err := p.Get(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded, "the provider is not run")
		ctx, cancel := context.WithCancel(w.Ctx)
		over := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { over <- p.Run(ctx) }()
		l, err := p.Get(w.Within(time.Second))
		require.NoError(w, err)
		l.Done(nil)
		cancel()
		require.NoError(w, <-over)
		require.Equal(w, "a", w.get(p, nil), "what it had it has")
		_, err = p.Get(ctx)
		require.ErrorIs(w, err, context.Canceled)
		_, err = p.All(ctx)
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, p.Run(ctx), context.Canceled, "it had ended before")
	})
}

func TestGetFailsOnceTheClientIsClosed(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.Random(), nil)
		w.register("a")
		w.Settle()
		require.NoError(w, w.user.Close(w.Ctx))
		w.Settle()
		_, err := p.Get(w.Ctx)
		require.ErrorIs(w, err, session.ErrClosed)
	})
}

func TestWrongArgumentsAreNamedAndNothingIsSent(t *testing.T) {
	inWorld(t, func(w *World) {
		w.ResetStats()
		for name, p := range map[string]*provider.Provider{
			"registry": provider.New(nil, service, provider.Random(), nil),
			"picker":   provider.New(w.registry, service, nil, nil),
			"service":  provider.New(w.registry, "a/b", provider.Random(), nil),
			"base":     provider.New(discovery.NewRegistry(w.client, "no path", nil), service, provider.Random(), nil),
			"DownFor":  provider.New(w.registry, service, provider.Random(), &provider.Options{DownFor: -1}),
		} {
			_, err := p.Get(w.Ctx)
			require.ErrorIs(w, err, provider.ErrInvalidArgument, name)
			_, err = p.All(w.Ctx)
			require.ErrorIs(w, err, provider.ErrInvalidArgument, name)
			require.ErrorIs(w, p.Run(w.Ctx), provider.ErrInvalidArgument, name)
			require.ErrorIs(w, p.Status().Err, provider.ErrInvalidArgument, name)
			require.Greater(w, p.Status().Stale, time.Hour, "it was never synced")
			if name != "base" {
				require.ErrorContains(w, err, name)
			}
		}
		require.Zero(w, w.Requests(w.client))
	})
}

func TestPickerThatChoosesNoneIsAnError(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.PickerFunc(func(c []provider.Candidate) int { return len(c) }), nil)
		w.register("a")
		w.Settle()
		_, err := p.Get(w.Ctx)
		require.ErrorIs(w, err, provider.ErrNoInstance)
	})
}

// Many goroutines get and return instances while instances come and go: each instance
// that they get was registered, and in the end none is counted as being in use.
func TestManyUseItWhileTheListChanges(t *testing.T) {
	inWorld(t, func(w *World) {
		p := w.run(provider.FewestInFlight(), &provider.Options{DownThreshold: 3})
		w.register("a")
		w.Settle()
		ctx := w.Within(20 * time.Second)
		var all sync.WaitGroup
		for n := range 8 {
			// Waited for below; ends with ctx.
			all.Go(func() {
				for ctx.Err() == nil {
					l, err := p.Get(ctx)
					if err != nil {
						break
					}
					world.SleepContext(ctx, time.Duration(1+n)*time.Millisecond)
					if n%3 == 0 {
						l.Done(errBroken)
					} else {
						l.Done(nil)
					}
				}
			})
		}
		for range 20 {
			g := w.register("b")
			world.Pause(300 * time.Millisecond)
			require.NoError(w, g.Unregister(w.Ctx))
			world.Pause(300 * time.Millisecond)
		}
		all.Wait()
		flying := -1
		q := w.run(provider.PickerFunc(func(c []provider.Candidate) int { flying = c[0].InFlight; return 0 }), nil)
		w.get(q, nil)
		require.Zero(w, flying)
		require.Equal(w, "aa", w.gets(p, 2))
	})
}
