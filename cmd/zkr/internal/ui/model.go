package ui

import (
	"context"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// calm is the shortest time between two looks at the tree: changes that come
	// in a crowd are looked at together.
	calm = 150 * time.Millisecond
	// again is how often it is looked at when nothing changes: what has been
	// so for long may have become worth a word.
	again = 10 * time.Second
	// watchful is how often the connection is looked at.
	watchful = 500 * time.Millisecond
	// shortestPatience is for sessions of very short timeouts.
	shortestPatience = 5 * time.Second
)

// Model is what the pages show, kept up to date by Run.
type Model struct {
	// Hub says when there is another View.
	Hub web.Hub

	client *session.Client
	root   string
	tree   *cache.Tree[*recognize.Node]

	// patience is how old the view may be on a connection that is fine: it is
	// set before Run looks at anything.
	patience time.Duration

	// mu guards view, which is replaced as a whole, and never nil.
	mu   sync.Mutex
	view *View
}

// View is what is known at one moment. It does not change.
type View struct {
	*recognize.World
	Root   string
	Health Health
	// Exists: there is a znode at Root.
	Exists bool
	// At is when this was put together.
	At time.Time
	// Feed is what has changed, the newest first.
	Feed []Change
	// History is what counters were, by their paths, the oldest first.
	History map[string][]Point
}

// Health is how far a view can be relied on.
type Health struct {
	// Loaded: all of the tree was read, at some time. Entries and Pending tell
	// how far it has come before.
	Loaded           bool
	Entries, Pending int
	// Away: the rest of the tree cannot be read, because there is no connection.
	Away bool
	// Stale: what is shown may be old, because ZooKeeper is away or does not
	// answer. AsOf is how old then.
	Stale  bool
	AsOf   time.Time
	Server string
}

// NewModel makes a model of what is at and below root. It does nothing yet.
func NewModel(client *session.Client, root string) *Model {
	m := &Model{client: client, root: root}
	o := &cache.Options{}
	if root == "/" {
		// The server's own nodes, which coordinate nothing.
		o.Filter = func(path string) bool { return path != "/zookeeper" }
	}
	m.tree = cache.NewTree(client, root, func(n session.Node) (*recognize.Node, error) {
		return recognize.NewNode(n.Path, n.Data, n.Stat), nil
	}, o)
	m.view = &View{World: &recognize.World{}, Root: root, At: time.Now()}
	return m
}

// View is what is known now.
func (m *Model) View() *View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

// Run keeps the model up to date until ctx ends, or the tree cannot be read (see
// cache.View.Run).
func (m *Model) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	s, err := m.client.Session(ctx)
	if err != nil {
		return err
	}
	m.patience = max(shortestPatience, s.Timeout())
	over, dirty := make(chan error, 1), make(chan struct{}, 1)
	// Waited for above; ends with ctx, or when the view cannot go on.
	helpers.Go(func() { over <- m.tree.Run(ctx) })
	// Waited for above; ends with ctx, or with the view.
	helpers.Go(func() {
		for _, err := range m.tree.Events(ctx) {
			if err != nil {
				return
			}
			select {
			case dirty <- struct{}{}:
			default: // it is to be looked at already
			}
		}
	})
	return m.follow(ctx, over, dirty)
}

func (m *Model) follow(ctx context.Context, over <-chan error, dirty <-chan struct{}) error {
	memory := newMemory()
	repeat, watch := time.NewTicker(again), time.NewTicker(watchful)
	defer repeat.Stop()
	defer watch.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-dirty:
			m.look(memory)
			pause := time.NewTimer(calm)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
		case <-repeat.C:
			// What is not known any more has not gone on for longer.
			if h := m.View().Health; h.Loaded && !h.Stale {
				m.look(memory)
			}
		case <-watch.C:
			m.watch(memory)
		}
	}
}

// watch looks at the connection. That all was read is told with what was: nobody is
// to be shown that there is nothing.
func (m *Model) watch(memory *memory) {
	h, was := m.health(), m.View().Health
	if h.Stale {
		memory.blink()
	}
	switch {
	case h.Loaded && !was.Loaded, !h.Stale && memory.blind() && m.tree.Status().Synced:
		m.look(memory)
	case h != was:
		m.publish(func(v *View) { v.Health = h })
	}
}

// look tells anew what there is. The tree's status comes first: what it says is
// true of the snapshot as well.
func (m *Model) look(memory *memory) {
	health, seen := m.health(), memory.watched(m.tree.Status())
	now, snapshot := time.Now(), m.tree.Snapshot()
	world := recognize.Look(func(yield func(*recognize.Node) bool) {
		for e := range snapshot.All() {
			n := e.Value
			if e.Err != nil || n == nil {
				n = &recognize.Node{Path: e.Path, Denied: true}
			}
			if !yield(n) {
				return
			}
		}
	}, memory.past, now)
	memory.remember(world, now, seen)
	_, exists := snapshot.Lookup(m.root)
	m.publish(func(v *View) {
		v.World, v.Health, v.Exists = world, health, exists
		v.Feed, v.History = memory.changes(), memory.numbers()
	})
}

// publish replaces the view by another one.
func (m *Model) publish(change func(*View)) {
	m.mu.Lock()
	next := *m.view
	change(&next)
	next.At = time.Now()
	m.view = &next
	m.mu.Unlock()
	m.Hub.Publish()
}

// health asks how far the tree can be relied on. What moves on all the time is
// left out where it does not matter.
func (m *Model) health() Health {
	st, state := m.tree.Status(), m.client.State()
	h := Health{Loaded: st.Loaded, Server: state.Server}
	if !st.Loaded {
		h.Entries, h.Pending, h.Away = st.Entries, st.Pending, !st.Connected
		return h
	}
	// A connection that is fine proves itself with each ping.
	if h.Stale = !st.Connected || st.Stale > m.patience; h.Stale {
		h.AsOf = st.AsOf.Truncate(time.Millisecond)
	}
	return h
}
