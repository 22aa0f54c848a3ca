package ui

import (
	"context"
	"iter"
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
	// idle is the longest time between two looks at a tree that changes while a page
	// is open.
	idle = 2 * time.Second
	// again is how often it is looked at when nothing changes: what has been
	// so for long may have become worth a word.
	again = 10 * time.Second
	// watchful is how often the connection is looked at.
	watchful = 500 * time.Millisecond
	// shortestPatience is for sessions of very short timeouts.
	shortestPatience = 5 * time.Second
)

// Model is what the pages show. Run keeps the view of the znodes in sync; what they are
// is told when somebody reads, and while pages are open. To read all znodes again for
// each reader would take seconds in a large tree, to keep them costs no more than the
// changes; to tell what they are without a reader costs, for nothing.
type Model struct {
	// Hub says when there is another View.
	Hub web.Hub

	client *session.Client
	root   string
	tree   *cache.Tree[*recognize.Node]

	// patience is how old the view may be on a connection that is fine: it is
	// set before Run looks at anything.
	patience time.Duration

	dirty dirty

	// sight guards what follows, and is locked before mu: one looks at a time.
	sight      sync.Mutex
	memory     *memory
	recognizer recognize.Recognizer
	// looked is when the last look was, asked when somebody read last; rested is when
	// somebody may look again.
	looked, asked, rested time.Time

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
	m := &Model{client: client, root: root, memory: newMemory(), dirty: newDirty()}
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

// View is what is known now: it first tells what has changed since the last view, unless
// that was a moment ago. Nobody else tells it while no page is open.
func (m *Model) View() *View {
	m.sight.Lock()
	defer m.sight.Unlock()
	now := time.Now()
	m.asked = now
	switch h := m.last().Health; {
	case m.dirty.some() && now.Before(m.rested):
		m.dirty.ring() // for the pages that are open
	case m.dirty.some(), h.Loaded && !h.Stale && now.Sub(m.looked) > again:
		m.lookLocked()
	}
	return m.last()
}

// last is the view that was made last.
func (m *Model) last() *View {
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
	over := make(chan error, 1)
	// Waited for above; ends with ctx, or when the view cannot go on.
	helpers.Go(func() { over <- m.tree.Run(ctx) })
	// Waited for above; ends with ctx, or with the view.
	helpers.Go(func() {
		for ev, err := range m.tree.Events(ctx) {
			if err != nil {
				return
			}
			m.dirty.note(ev)
		}
	})
	return m.follow(ctx, over)
}

func (m *Model) follow(ctx context.Context, over <-chan error) error {
	repeat, watch := time.NewTicker(again/2), time.NewTicker(watchful)
	defer repeat.Stop()
	defer watch.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.dirty.wake:
			if m.Hub.Streams() == 0 {
				continue // the next reader looks
			}
			pause := time.NewTimer(m.rest())
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
			m.View()
		case <-repeat.C:
			// Some findings, such as a long hold, come with time alone: View looks
			// again, unless the tree is stale.
			if m.Hub.Streams() > 0 {
				m.View()
			}
		case <-watch.C:
			m.watch()
		}
	}
}

// rest is how long nobody is to look.
func (m *Model) rest() time.Duration {
	m.sight.Lock()
	defer m.sight.Unlock()
	return time.Until(m.rested)
}

// pace is the time until the tree is looked at again, after a look that took so long:
// looks take a fifth of a processor at most, unless that would make the view older than
// idle.
func pace(took time.Duration) time.Duration { return min(max(calm, 4*took), idle) }

// watch looks at the connection. That all was read is told with what was: nobody is
// to be shown that there is nothing.
func (m *Model) watch() {
	h, was := m.health(), m.last().Health
	m.sight.Lock()
	defer m.sight.Unlock()
	if h.Stale {
		m.memory.blink()
	}
	read := m.Hub.Streams() > 0 || time.Since(m.asked) < again
	switch {
	case read && h.Loaded && !was.Loaded, read && !h.Stale && m.memory.blind() && m.tree.Status().Synced:
		m.lookLocked()
	case h != was:
		m.publish(func(v *View) { v.Health = h })
	}
}

// lookLocked recognizes again what has changed. The tree's status comes first: what it says is
// true of the nodes as well.
func (m *Model) lookLocked() {
	now := time.Now()
	health, status := m.health(), m.tree.Status()
	paths, all, late := m.dirty.take(now)
	seen := m.memory.watched(status) && !late
	var d recognize.Delta
	if all || m.looked.IsZero() {
		d = m.recognizer.Replace(m.nodes(), m.memory.past, now)
	} else {
		changes := make(map[string]*recognize.Node, len(paths))
		for path := range paths {
			changes[path] = nil
			if e, ok := m.tree.Lookup(path); ok {
				changes[path] = known(e)
			}
		}
		d = m.recognizer.Update(changes, m.memory.past, now)
	}
	m.looked = now
	m.memory.remember(d, now, seen)
	_, exists := d.Lookup(m.root)
	m.publish(func(v *View) {
		v.World, v.Health, v.Exists = d.World, health, exists
		v.Feed, v.History = m.memory.changes(), m.memory.numbers()
	})
	m.rested = time.Now().Add(pace(time.Since(now)))
}

// nodes are all that there are.
func (m *Model) nodes() iter.Seq[*recognize.Node] {
	return func(yield func(*recognize.Node) bool) {
		for e := range m.tree.All() {
			if !yield(known(e)) {
				return
			}
		}
	}
}

// known is a node as far as it may be read.
func known(e cache.Entry[*recognize.Node]) *recognize.Node {
	if e.Err != nil || e.Value == nil {
		return &recognize.Node{Path: e.Path, Denied: true}
	}
	return e.Value
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

// health asks how far the tree can be relied on. Times that move on all the time are
// left out where they do not matter.
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
