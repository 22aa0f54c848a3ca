package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// glance is the subject and the answer of one request to the leader.
type glance struct {
	view       View
	registered []peer // the coordinators first
	crew       *Crew
}

// refreshView asks the leader, and the processes of this machine missing in its
// answer. If an event makes the answer, or its absence, out of date, look asks
// again, but only once, so that a view is always published.
func (m *Monitor) refreshView(ctx context.Context) {
	g, ok := m.glance(ctx, true)
	if !ok {
		g, _ = m.glance(ctx, false)
	}
	v := g.view
	processes := g.crew.Processes()
	itself := askProcesses(ctx, m.asker, processes, v.Summary.Nodes)
	if ctx.Err() != nil {
		return // the answers are incomplete
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// A token larger than the leader's was made up if no node is registered with
	// this token any more, and another node leads.
	if v.Err == nil && v.Coordinators == 1 && v.State == session.Connected.String() && v.Summary.Token < m.history.leader.Token {
		m.history.forget()
	}
	if v.Err == nil && !m.saw(v.Summary, v.At) {
		v.Err = fmt.Errorf("%w: %s is an older leader", ErrSilent, v.Summary.Leader)
	}
	if v.Err != nil {
		v.Problem, v.Summary, v.Heard = v.Err.Error(), m.view.Summary, m.view.Heard
		v.Summary.Left = max(0, len(g.registered)-mostNodes)
	}
	for _, s := range itself {
		m.history.stopped(s.Led)
	}
	v.Rows = rows(v, g.registered[:min(len(g.registered), mostNodes)], itself, processes)
	v.Failovers = m.history.failovers()
	m.view = v
	m.hub.Publish()
}

// glance asks the leader. It reports false if stopped.
func (m *Monitor) glance(ctx context.Context, stoppable bool) (g glance, ok bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m.mu.Lock()
	if stoppable {
		m.stop = stop
	}
	leading, working := m.coordinators, m.workers
	g = glance{registered: slices.Concat(leading, working), crew: m.crew}
	m.mu.Unlock()
	now := time.Now()
	g.view = View{At: now, Heard: now, Coordinators: len(leading), Workers: len(working), State: m.client.State().Status.String()}
	g.view.Summary, g.view.Err = m.askLeader(ctx, leading, g.crew.Processes())
	return g, g.view.Err == nil || ctx.Err() == nil
}

// saw records the leader's answer; false if the leader was replaced.
func (m *Monitor) saw(s Summary, at time.Time) bool {
	for _, n := range s.Nodes {
		if n.Name == s.Leader && n.Token == s.Token && !m.history.leads(n, at) {
			return false
		}
	}
	for _, n := range s.Nodes {
		m.history.stopped(n.Led)
	}
	return true
}

// askLeader finds the leader in the registry and sends the request, except to a
// process of this machine that cannot answer.
func (m *Monitor) askLeader(ctx context.Context, list []peer, processes []Process) (Summary, error) {
	p, ok := coordinator(list)
	if !ok {
		return Summary{}, ErrNoCoordinator
	}
	for _, here := range processes {
		if here.Name == p.Name && here.Address == p.address && (here.State == frozen || here.State == exited) {
			return Summary{}, fmt.Errorf("%w: %s is %s", ErrSilent, p.Name, here.State)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	var s Summary
	if err := fetchJSON(ctx, m.asker, p.address, "/cluster/status", summaryLimit, &s); err != nil {
		return Summary{}, fmt.Errorf("%w: %s: %w", ErrSilent, p.Name, err)
	}
	if s.Token != p.Token || s.Leader != p.Name {
		return Summary{}, fmt.Errorf("%w: %s is registered with another name or token", ErrSilent, p.Name)
	}
	if len(s.Nodes) > mostNodes {
		return Summary{}, fmt.Errorf("%w: %s tells of %d nodes", ErrSilent, p.Name, len(s.Nodes))
	}
	return s, nil
}
