package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// pollEvery is how often the leader is asked when nothing happens.
	pollEvery = 200 * time.Millisecond
	// leaderLimit bounds the leader's answer: time for the workers, and some for
	// the leader itself.
	leaderLimit = allLimit + 500*time.Millisecond
)

// ErrNoCoordinator: no node is registered as coordinator.
var ErrNoCoordinator = errors.New("no node is registered as coordinator")

// ErrSilent: the coordinator does not answer as the leader.
var ErrSilent = errors.New("the coordinator does not answer as the leader")

// View is the monitor's knowledge at a moment.
type View struct {
	At time.Time `json:"at"`
	// Summary is the leader's last summary. Err is why no summary is available
	// at the moment: ErrNoCoordinator, ErrSilent, or nil.
	Summary Summary `json:"summary"`
	Err     error   `json:"-"`
	// Heard is when the leader was last asked with success.
	Heard time.Time `json:"heard,omitzero"`
	// Problem is Err as text.
	Problem string `json:"problem,omitempty"`
	// Coordinators and Workers are how many are registered.
	Coordinators int `json:"coordinators"`
	Workers      int `json:"workers"`
	// Rows are all known nodes, in the order of the election.
	Rows      []Row      `json:"rows"`
	Failovers []Failover `json:"failovers"` // newest first
	// State of the monitor's own session.
	State string `json:"zookeeper"`
}

// stands reports whether a node of that name has a place in the election. The
// number of nodes would not tell: a node that becomes the leader is counted
// twice for a moment, because the two registries change one after the other.
func (v View) stands(name string) bool {
	return slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Name == name && r.Znode != "" })
}

// Row is a node in the page's table.
type Row struct {
	Status
	// Process of the node, if on this machine.
	Process *Process `json:"process,omitempty"`
	// Source is the origin of the row: leader, node, registry, process.
	Source string `json:"source"`
	// Heard is the time of the last leader's answer, for a row completed from
	// this answer.
	Heard time.Time `json:"heard,omitzero"`
	// twin: another row has the same name, and is, or may be, the node's present
	// life.
	twin bool
}

// The sources of a row.
const (
	byLeader   = "leader"
	byItself   = "node"
	byRegistry = "registry"
	byProcess  = "process"
)

// Monitor looks at the cluster from outside.
type Monitor struct {
	client   *session.Client
	registry *discovery.Registry
	asker    *http.Client
	hub      web.Hub
	kick     chan struct{} // cap 1: look now
	// patience bounds the leader's answer; leaderLimit, except in tests.
	patience time.Duration

	// mu guards the fields below; the lists are replaced, never changed. No lock
	// of the crew is taken while mu is held.
	mu           sync.Mutex
	crew         *Crew
	stop         context.CancelFunc // ends the poll in progress
	coordinators []peer
	workers      []peer
	history      history
	view         View
}

// NewMonitor makes a monitor.
func NewMonitor(client *session.Client) *Monitor {
	return &Monitor{
		client: client, registry: discovery.NewRegistry(client, registries, nil), asker: newAsker(), kick: make(chan struct{}, 1), patience: leaderLimit,
		stop: func() {},
		view: View{At: time.Now(), Err: ErrNoCoordinator, Problem: ErrNoCoordinator.Error(), State: session.Connected.String()},
	}
}

// Watch makes the monitor also ask the crew's processes that the leader does
// not list.
func (m *Monitor) Watch(c *Crew) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crew = c
}

// Look makes the monitor look at once, and aborts a poll in progress.
func (m *Monitor) Look() {
	m.mu.Lock()
	stop := m.stop
	m.mu.Unlock()
	stop()
	m.soon()
}

// soon makes the monitor look after the present work.
func (m *Monitor) soon() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// View is the present view.
func (m *Monitor) View() View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

// ordered records an order about to be carried out.
func (m *Monitor) ordered(node string, what Order) (id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.next = nextOf(slices.Concat(m.coordinators, m.workers), node)
	return m.history.ordered(time.Now(), node, what)
}

// carried records the outcome of an order. If the answer was lost, the outcome
// is unknown.
func (m *Monitor) carried(id int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil || errors.Is(err, errUnsure) {
		m.history.carried(id, time.Now())
	} else {
		m.history.undone(id)
	}
}

// address is where a node takes orders: the address of its process on this
// machine, or its registered address. Addresses from other sources do not
// count. "" means unknown.
func (m *Monitor) address(name string) string {
	m.mu.Lock()
	registered := slices.Concat(m.workers, m.coordinators)
	crew := m.crew
	m.mu.Unlock()
	for _, p := range crew.Processes() {
		if p.Name == name {
			return p.Address
		}
	}
	for _, p := range slices.Backward(registered) { // the leader, and the newest registrations, count most
		if p.Name == name {
			return p.address
		}
	}
	return ""
}

// Await waits until ok reports true for the view.
func (m *Monitor) Await(ctx context.Context, ok func(View) bool) (View, error) {
	for version := int64(0); ; {
		if v := m.View(); ok(v) {
			return v, nil
		}
		var err error
		if version, err = m.hub.Wait(ctx, version); err != nil {
			return View{}, err
		}
	}
}

// Run keeps the view up to date until ctx ends, or ZooKeeper refuses to be read.
func (m *Monitor) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watchers sync.WaitGroup
	for service, list := range map[string]*[]peer{coordinators: &m.coordinators, workers: &m.workers} {
		// Waited for below; ends with ctx.
		watchers.Go(func() {
			news := m.soon
			if service == coordinators {
				news = m.Look // the asked node may have been replaced
			}
			if err := m.watch(ctx, service, list, news); err != nil {
				cancel(err)
			}
		})
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		m.refreshView(ctx)
		select {
		case <-m.kick:
		case <-poll.C:
		case <-ctx.Done():
			watchers.Wait()
			m.asker.CloseIdleConnections()
			return context.Cause(ctx)
		}
	}
}

// watch follows a service's instances.
func (m *Monitor) watch(ctx context.Context, service string, into *[]peer, news func()) error {
	for list, err := range m.registry.Watch(ctx, service) {
		if err != nil {
			return err
		}
		m.mu.Lock()
		*into = peersOf(list)
		m.mu.Unlock()
		news()
	}
	return nil
}
