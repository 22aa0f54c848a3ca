package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// witness follows a view by its events, and checks that the view never goes back, has
// no entry without its parent, and reports only events that fit the ones before.
type witness struct {
	root, shape string
	shown       map[string]cache.Entry[string]
	newest      map[string]session.Stat // of each path, whether it is there or not
	resets      int                     // snapshots after the first
	events      int
}

func newWitness(root, shape string) *witness {
	return &witness{root: root, shape: shape, newest: map[string]session.Stat{}}
}

var errWitness = errors.New("the view breaks its word")

func (wi *witness) see(ev cache.Event[string]) error {
	fail := func(why string) error { return fmt.Errorf("%w: %s: %s", errWitness, why, line(ev)) }
	wi.events++
	if ev.Kind == cache.EventSnapshot {
		if wi.shown != nil {
			wi.resets++
		}
		wi.shown = map[string]cache.Entry[string]{}
		for e := range ev.Snapshot.All() {
			if err := wi.enter(e); err != nil {
				return fmt.Errorf("in a snapshot: %w", err)
			}
		}
		return nil
	}
	old, there := wi.shown[ev.Path()]
	switch {
	case wi.shown == nil:
		return fail("no snapshot came first")
	case there == (ev.Kind == cache.EventAdded):
		return fail("it is there, or not")
	case there && old != ev.Old:
		return fail(fmt.Sprintf("it was %v", old))
	case ev.Kind == cache.EventUpdated && old.Stat.Czxid != ev.New.Stat.Czxid:
		return fail("it is another znode")
	case ev.Kind != cache.EventRemoved:
		return wi.enter(ev.New)
	}
	delete(wi.shown, ev.Path())
	for p := range wi.shown {
		if len(p) > len(ev.Path()) && p[:len(ev.Path())+1] == ev.Path()+"/" {
			return fail("its child " + p + " is still there")
		}
	}
	return nil
}

func (wi *witness) enter(e cache.Entry[string]) error {
	last := wi.newest[e.Path]
	if e.Stat.Czxid < last.Czxid || e.Stat.Mzxid < last.Mzxid {
		return fmt.Errorf("%w: %s goes back from %d to %d", errWitness, e.Path, last.Mzxid, e.Stat.Mzxid)
	}
	if _, ok := wi.shown[parent(e.Path)]; !ok && e.Path != wi.root && wi.shape == aTree {
		return fmt.Errorf("%w: %s has no parent", errWitness, e.Path)
	}
	wi.newest[e.Path], wi.shown[e.Path] = e.Stat, e
	return nil
}

// compare checks that the events add up to the view.
func (wi *witness) compare(s *cache.Snapshot[string]) error {
	if len(wi.shown) != s.Len() {
		return fmt.Errorf("%w: the events add up to %d entries, the view has %d", errWitness, len(wi.shown), s.Len())
	}
	for e := range s.All() {
		if wi.shown[e.Path] != e {
			return fmt.Errorf("%w: the events add up to %v, the view has %v", errWitness, wi.shown[e.Path], e)
		}
	}
	return nil
}

// watched is a view with a witness.
type watched struct {
	view *cache.View[string]
	fail chan error // the witness's result

	mu sync.Mutex // guards wi, while watch's reader may run
	wi *witness
}

// compare is the witness's.
func (wd *watched) compare() error {
	wd.mu.Lock()
	defer wd.mu.Unlock()
	return wd.wi.compare(wd.view.Snapshot())
}

func (wd *watched) see(ev cache.Event[string]) error {
	wd.mu.Lock()
	defer wd.mu.Unlock()
	return wd.wi.see(ev)
}

// watch runs v and a reader until ctx ends; pause makes the reader slow.
func watch(ctx context.Context, all *sync.WaitGroup, v *cache.View[string], root, shape string, pause time.Duration) *watched {
	wd := &watched{view: v, wi: newWitness(root, shape), fail: make(chan error, 1)}
	// Waited for by the caller through all; ends with ctx.
	all.Go(func() {
		for ctx.Err() == nil {
			// Its owner stops it now and then, and goes on.
			some, cancel := context.WithTimeout(ctx, time.Minute)
			_ = v.Run(some)
			cancel()
		}
	})
	// Waited for by the caller through all; ends with ctx.
	all.Go(func() {
		var err error
		for ev, e := range v.Events(ctx) {
			if e != nil {
				break
			}
			if err = wd.see(ev); err != nil {
				break
			}
			if pause > 0 {
				world.SleepContext(ctx, pause)
			}
		}
		wd.fail <- err
	})
	return wd
}

// mutate changes the tree below /s at random, by a client whose links are sound; the
// servers may lose changes. (Changes by the test server's own methods are committed
// without a majority, and may be taken back by the next leader.)
func mutate(ctx context.Context, c *session.Client, r *rand.Rand, pause time.Duration) {
	names := []string{"/a", "/b", "/c"}
	for i := 0; ctx.Err() == nil; i++ {
		path := "/s"
		for range r.IntN(4) {
			path += names[r.IntN(len(names))]
		}
		change(ctx, c, r.IntN(5), path, fmt.Appendf(nil, "%d", i))
		if r.IntN(4) == 0 {
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(pause))))
		}
	}
}

func change(ctx context.Context, c *session.Client, what int, path string, data []byte) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	s, err := c.Session(ctx)
	switch {
	case err != nil:
	case what < 2:
		_, _ = s.Create(ctx, path, data, session.Persistent, nil)
	case what < 4:
		_ = s.Delete(ctx, path, -1)
	default:
		_, _ = s.Set(ctx, path, data, -1)
	}
}

// history is one random history: views of every shape, in clients that suffer,
// of a tree that changes all the time.
func history(w *world.World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, uint64(servers)))
	if err := w.Server.WaitLeader(w.Ctx); err != nil {
		return err
	}
	const clients = 2
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	var all sync.WaitGroup
	var views []*watched
	for range clients {
		c := w.Client()
		small := &cache.Options{Buffer: 3}
		views = append(views,
			watch(ctx, &all, cache.NewTree(c, "/s", text, nil).View, "/s", aTree, 0),
			watch(ctx, &all, cache.NewTree(c, "/s/a", text, small).View, "/s/a", aTree, 300*time.Millisecond),
			watch(ctx, &all, cache.NewChildren(c, "/s", text, nil).View, "/s", children, 0),
			watch(ctx, &all, cache.NewValue(c, "/s/b", text, nil).View, "/s/b", justValue, 0))
	}
	trouble, calm := context.WithTimeout(ctx, 3*time.Minute)
	defer calm()
	own, writer := rand.New(rand.NewPCG(seed, 7)), w.Client()
	// Waited for below; ends with trouble.
	all.Go(func() { mutate(trouble, writer, own, 400*time.Millisecond) })
	g := &world.FaultInjector{Server: w.Server, Clients: clients, Servers: servers, Rand: r}
	g.Run(trouble, 5*time.Second)
	w.Pass(2 * time.Minute)
	for _, wd := range views {
		over, done := context.WithTimeout(ctx, time.Hour)
		err := same(over, w.Server, wd.view, wd.wi.root, wd.wi.shape)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", wd.wi.root, err)
		}
	}
	w.Pass(time.Minute)
	cancel()
	all.Wait()
	for _, wd := range views {
		if err := errors.Join(<-wd.fail, wd.wi.compare(wd.view.Snapshot())); err != nil {
			return fmt.Errorf("%s: %w", wd.wi.root, err)
		}
	}
	w.Pass(time.Minute)
	for i := 1; i <= servers && servers > 1; i++ {
		// A server does not notice that a session has moved away if the link between
		// them lost everything; the server keeps the session's watches.
		if err := errors.Join(w.Server.Stop(i), w.Server.Restart(i)); err != nil {
			return err
		}
		w.Pass(time.Minute)
	}
	if n := w.Server.Stats().Watches; n > 0 && world.Has(world.RemovesWatches) {
		return fmt.Errorf("%d watches are left: %v", n, w.Server.Watches())
	}
	return nil
}

func TestStress(t *testing.T) {
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d servers", servers), func(t *testing.T) {
			world.RunSeeds(t, world.Seeds(8), servers, func(w *world.World, seed uint64) error { return history(w, seed, servers) })
		})
	}
}

func TestStressWithoutPersistentWatches(t *testing.T) {
	for _, seed := range world.SeedList(t, world.Seeds(4)) {
		world.In(t, &zktest.Options{OldServer: true}, func(w *world.World) {
			if err := history(w, seed, 1); err != nil {
				w.Errorf("seed %d: %v", seed, err)
			}
		})
	}
}

// The witness must notice what it looks for.
func TestWitnessNoticesAViewThatBreaksItsWord(t *testing.T) {
	at := func(path string, czxid, mzxid int64) cache.Entry[string] {
		return cache.Entry[string]{Path: path, Stat: session.Stat{Czxid: czxid, Mzxid: mzxid}}
	}
	type event = cache.Event[string]
	add := func(e cache.Entry[string]) event { return event{Kind: cache.EventAdded, New: e} }
	update := func(old, e cache.Entry[string]) event { return event{Kind: cache.EventUpdated, Old: old, New: e} }
	remove := func(e cache.Entry[string]) event { return event{Kind: cache.EventRemoved, Old: e} }
	first := event{Kind: cache.EventSnapshot, Snapshot: &cache.Snapshot[string]{}}
	s, a := at("/s", 1, 1), at("/s/a", 2, 2)
	for name, events := range map[string][]event{
		"no snapshot":     {add(s)},
		"added twice":     {first, add(s), add(s)},
		"removed unseen":  {first, remove(s)},
		"other old":       {first, add(s), update(at("/s", 1, 5), at("/s", 1, 7))},
		"another znode":   {first, add(s), update(s, at("/s", 9, 9))},
		"goes back":       {first, add(at("/s", 1, 9)), update(at("/s", 1, 9), s)},
		"from the dead":   {first, add(at("/s", 5, 5)), remove(at("/s", 5, 5)), add(s)},
		"child first":     {first, add(a)},
		"parent is gone":  {first, add(s), add(a), remove(s)},
		"snapshot is old": {first, add(s), add(a), remove(a), add(at("/s/a", 1, 1))},
	} {
		wi, err := newWitness("/s", aTree), error(nil)
		for _, ev := range events {
			if err == nil {
				err = wi.see(ev)
			}
		}
		if !errors.Is(err, errWitness) {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
	wi := newWitness("/s", aTree)
	if err := errors.Join(wi.see(first), wi.see(add(s))); err != nil || !errors.Is(wi.compare(first.Snapshot), errWitness) {
		t.Error("a difference was not noticed:", err)
	}
}
