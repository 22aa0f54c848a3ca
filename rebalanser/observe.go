package rebalanser

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// observedHold is the hold of a resource, as reported to an observer.
type observedHold struct {
	hold *observing.Hold
	// ended: a call has begun to end the hold, and reports the end.
	ended atomic.Bool
}

// beginEnd begins to end the hold; nil if the hold is not reported, or another call ends it.
func (h *observedHold) beginEnd() *observing.Hold {
	if h == nil || !h.ended.CompareAndSwap(false, true) {
		return nil
	}
	h.hold.Ending()
	return h.hold
}

// heldResource is a resource with the znode that stands for it.
type heldResource struct {
	*Resource
	s     *session.Session
	znode string
}

func (h heldResource) Session() *session.Session { return h.s }
func (h heldResource) Path() string              { return h.znode }

// observeResources reports that the handler is told of rs now.
func (m *member) observeResources(rs []*Resource) {
	if m.g.client.Observer() == nil {
		return
	}
	for _, r := range rs {
		znode := m.at.resourcePath(r.name)
		if r.barrier != nil {
			znode = r.barrier.Path()
		}
		r.observed = &observedHold{hold: observing.BeginHold(m.ctx, m.g.client, observe.Resource, m.g.Path(), heldResource{r, m.s, znode})}
	}
}

// observedOf are the resources of these names whose holds were reported.
func (m *member) observedOf(names []string) []*Resource {
	if m.g.client.Observer() == nil {
		return nil
	}
	var rs []*Resource
	for _, name := range names {
		if r := m.owned[name]; r != nil && r.observed != nil {
			rs = append(rs, r)
		}
	}
	return rs
}

// endResources ends the contexts of rs, and then reports the ends, with err.
func endResources(rs []*Resource, cause, err error) {
	var ended []*observing.Hold
	for _, r := range rs {
		hold := r.observed.beginEnd()
		r.end(cause)
		if hold != nil {
			ended = append(ended, hold)
		}
	}
	for _, hold := range ended {
		hold.End(err)
	}
}

// observeAssignment reports that the member has exactly what it is assigned, if that has
// become true.
func (m *member) observeAssignment() {
	to := m.g.client.Observer()
	if to == nil {
		return
	}
	generation, resources, settled := m.f.Newest()
	switch {
	case m.quitting:
		m.unsettled = time.Time{}
	case !settled && m.unsettled.IsZero():
		m.unsettled = time.Now()
	case settled && !m.unsettled.IsZero():
		e := observe.AssignmentTaken{Path: m.g.Path(), Generation: generation, Resources: resources, Took: time.Since(m.unsettled)}
		m.unsettled = time.Time{}
		to.Observe(m.ctx, e)
	}
}

// reporter reports the rebalancings of a coordinator to an observer, on the coordinator's
// goroutine. A nil reporter does nothing.
type reporter struct {
	to   observe.Observer
	path string
	// changed is the time of the first change that no plan takes into account, planning
	// of the first change in the plan that is being computed; zero for none.
	changed, planning time.Time
	going             []rebalancing
}

// rebalancing is a rebalancing in progress, which began with a change at begun.
type rebalancing struct {
	event observe.Rebalanced
	begun time.Time
}

func newReporter(client *session.Client, at layout) *reporter {
	to := client.Observer()
	if to == nil {
		return nil
	}
	return &reporter{to: to, path: string(at)}
}

// noteChange notes that something has changed.
func (p *reporter) noteChange() {
	if p != nil && p.changed.IsZero() {
		p.changed = time.Now()
	}
}

// noteStep notes the beginnings and ends in a step, before the step is carried out.
func (p *reporter) noteStep(ctx context.Context, s core.Step, c *coordination) {
	if p == nil {
		return
	}
	if s.Planned {
		begun := p.planning
		p.planning = time.Time{}
		event := observe.Rebalanced{Path: p.path, Members: len(c.members.known)}
		switch {
		case s.Write != nil:
			event.Generation = s.Write.Generation
			event.Resources, event.Moves = countResources(c.shards.has, s.Write)
			p.going = append(p.going, rebalancing{event, begun})
		case s.Err != nil:
			event.Resources = len(c.resources.names)
			p.report(ctx, rebalancing{event, begun}, s.Err)
		}
	}
	if s.Plan != nil {
		p.noteChange() // time has passed, or a move is over
		if p.planning.IsZero() {
			p.planning = p.changed
		}
		p.changed = time.Time{}
	}
}

// countResources returns how many resources are assigned after a write, and how many of
// them have another owner than before.
func countResources(before map[string]written, w *core.Write) (resources, moves int) {
	for key, was := range before {
		if _, replaced := w.Set[key]; !replaced && !slices.Contains(w.Delete, key) {
			resources += len(was.shard.Resources)
		}
	}
	for key, s := range w.Set {
		resources, moves = resources+len(s.Resources), moves+len(s.Resources)
		was := before[key].shard
		if was.Client != s.Client {
			continue
		}
		had := make(map[string]bool, len(was.Resources))
		for _, r := range was.Resources {
			had[r] = true
		}
		for _, r := range s.Resources {
			if had[r] {
				moves--
			}
		}
	}
	return resources, moves
}

// reportMoved reports the rebalancings in progress of which no move is left.
func (p *reporter) reportMoved(ctx context.Context, left []core.Move) {
	if p == nil {
		return
	}
	open := map[int64]bool{}
	for _, mv := range left {
		open[mv.Generation] = true
	}
	going := p.going
	p.going = nil
	for _, r := range going {
		if open[r.event.Generation] {
			p.going = append(p.going, r)
			continue
		}
		p.report(ctx, r, nil)
	}
}

// reportEnd reports the rebalancings that the coordinator has not ended, because of err, and
// its own end.
func (p *reporter) reportEnd(ctx context.Context, err error) {
	if p == nil {
		return
	}
	for _, r := range p.going {
		p.report(ctx, r, err)
	}
	p.to.Observe(ctx, observe.CoordinationEnded{Path: p.path})
}

func (p *reporter) report(ctx context.Context, r rebalancing, err error) {
	r.event.Took, r.event.Err = time.Since(r.begun), err
	p.to.Observe(ctx, r.event)
}
