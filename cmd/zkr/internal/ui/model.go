package ui

import (
	"context"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// calm is the shortest time between two looks at the tree: changes in quick
	// succession are combined.
	calm = 150 * time.Millisecond
	// idle is the longest time between two looks at a tree that changes while a page
	// is open.
	idle = 2 * time.Second
	// again is the time between two looks without changes: an old state may have
	// become a problem by its age.
	again = 10 * time.Second
	// watchful is how often the connection is looked at.
	watchful = 500 * time.Millisecond
	// shortestPatience is for sessions of very short timeouts.
	shortestPatience = 5 * time.Second
)

// Model is the content of the pages. Run keeps the view of the znodes in sync.
// Recognition runs on reads and while pages are open, or always if Attentive. Reading all znodes again
// for each reader would take seconds in a large tree; keeping them in sync
// costs only the changes. Otherwise recognition without a reader would be wasted.
type Model struct {
	// Hub says when there is another View.
	Hub web.Hub
	// Auditor asks the servers for findings; nil for none. Set before Run.
	Auditor *doctor.Auditor
	// Attentive also looks at changes while there is no reader, every two seconds, and looks
	// every ten seconds without changes, so that the last hour is known when a reader comes.
	// Set before Run.
	Attentive bool

	client *session.Client
	root   string
	tree   *cache.Tree[*recognize.Node]

	// patience is the greatest age of the view on a healthy connection, set
	// before the first look.
	patience time.Duration

	dirty dirty

	// sight guards the fields below, and is locked before mu: only one look runs
	// at a time.
	sight      sync.Mutex
	memory     *memory
	recognizer recognize.Recognizer
	// looked is the time of the last look, asked the time of the last read, and
	// rested the time from which the next look is allowed. known is the time as of which
	// the tree was known at the last look (cache.Status).
	looked, asked, rested, known time.Time

	// mu guards view, which is replaced as a whole and never nil.
	mu   sync.Mutex
	view *View
}

// View is the knowledge at one moment. A View does not change.
type View struct {
	*recognize.World
	Root   string
	Health Health
	// Exists: there is a znode at Root.
	Exists bool
	// At is when this was put together.
	At time.Time
	// Moment is set in a view of the past; Audit, Feed, History and Hour are empty there.
	Moment *Moment
	// Audit is what the servers said last of themselves.
	Audit doctor.Report
	// Feed has the changes, the newest first.
	Feed []Change
	// History has the former values of counters by their paths, the oldest
	// first.
	History map[string][]Point
	// Hour is what is known of the holds and waits of the last hour.
	Hour Hour
}

// NewModel makes a model of the tree below root. Run starts the work.
func NewModel(client *session.Client, root string) *Model {
	m := &Model{client: client, root: root, memory: newMemory(), dirty: newDirty()}
	o := &cache.Options{}
	if root == "/" {
		// The server's own nodes have no recipes.
		o.Filter = func(path string) bool { return path != "/zookeeper" }
	}
	m.tree = cache.NewTree(client, root, func(n session.Node) (*recognize.Node, error) {
		return recognize.NewNode(n.Path, n.Data, n.Stat), nil
	}, o)
	m.view = &View{World: &recognize.World{}, Root: root, At: time.Now()}
	return m
}

// View returns the present view. View first recognizes the changes since the
// last view, unless that was a moment ago. While no page is open, only View
// does this.
func (m *Model) View() *View {
	m.sight.Lock()
	defer m.sight.Unlock()
	return m.viewLocked()
}

// ViewAsOf returns View, and the time as of which it shows everything that the server
// knew; zero if that time is not known.
func (m *Model) ViewAsOf() (*View, time.Time) {
	m.sight.Lock()
	defer m.sight.Unlock()
	asOf := m.tree.Status().AsOf // before the changes until then are looked at
	view := m.viewLocked()
	if m.dirty.hasChanges() {
		asOf = m.known // the next look is not allowed yet
	}
	return view, asOf
}

func (m *Model) viewLocked() *View {
	now := time.Now()
	m.asked = now
	switch h := m.lastView().Health; {
	case m.dirty.hasChanges() && now.Before(m.rested):
		m.dirty.signalChange() // for open pages
	case m.dirty.hasChanges(), h.Loaded && !h.Stale && now.Sub(m.looked) > again:
		m.lookLocked()
	}
	return m.lastView()
}

// viewAt returns the present view. Only a Past has others.
func (m *Model) viewAt(context.Context, string) (*View, error) { return m.View(), nil }

func (m *Model) changes() *web.Hub { return &m.Hub }

func (m *Model) top() string { return m.root }

// lastView is the newest view.
func (m *Model) lastView() *View {
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
	s, err := m.client.ReadSession(ctx)
	if err != nil {
		return err
	}
	m.patience = max(shortestPatience, s.Timeout())
	over := make(chan error, 1)
	if m.Auditor != nil {
		m.Auditor.Inspect = m.Inspector()
		// Waited for above; ends with ctx.
		helpers.Go(func() { m.Auditor.Run(ctx, m.client.Servers, func() { m.publishView(func(*View) {}) }) })
	}
	// Waited for above; ends with ctx, or when the view cannot go on.
	helpers.Go(func() { over <- m.tree.Run(ctx) })
	// Waited for above; ends with ctx, or with the view.
	helpers.Go(func() {
		for ev, err := range m.tree.Events(ctx) {
			if err != nil {
				return
			}
			m.dirty.noteEvent(ev)
		}
	})
	return m.followChanges(ctx, over)
}

func (m *Model) followChanges(ctx context.Context, over <-chan error) error {
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
			rest := m.restTime()
			if m.Hub.Streams() == 0 {
				if !m.Attentive {
					continue // the next reader looks
				}
				rest = max(rest, idle)
			}
			pause := time.NewTimer(rest)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
			m.View()
		case <-repeat.C:
			// Some findings, such as a long hold, come with time alone: View looks
			// again, unless the tree is stale.
			if m.Hub.Streams() > 0 || m.Attentive {
				m.View()
			}
		case <-watch.C:
			m.watchTree()
		}
	}
}

// restTime is the time until the next look.
func (m *Model) restTime() time.Duration {
	m.sight.Lock()
	defer m.sight.Unlock()
	return time.Until(m.rested)
}

// paceFor is the pause before the next look, after a look of this duration: looks
// take at most a fifth of a processor, unless the view would become older than
// idle.
func paceFor(took time.Duration) time.Duration { return min(max(calm, 4*took), idle) }

// publishView replaces the view.
func (m *Model) publishView(change func(*View)) {
	m.mu.Lock()
	next := *m.view
	change(&next)
	next.At, next.Audit = time.Now(), m.Auditor.Report()
	m.view = &next
	m.mu.Unlock()
	m.Hub.Publish()
}
