package rebalanser

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// call is a call of a handler in progress.
type call struct {
	kind  core.Kind // Start or Revoke
	names []string
	// end ends the context of the call.
	end context.CancelCauseFunc
	// unwanted is closed once none of the started resources is wanted any more.
	unwanted chan struct{}
	// untold: the handler was not called, since nothing was wanted any more.
	untold bool
	// returned and err are the outcome of the call, once it is in the mailbox.
	returned bool
	err      error
}

// withoutFailed are the lost names that the handler must be told of: not the names that it
// has given up before, or has failed with.
func (c *call) withoutFailed(names []string) []string {
	if !c.returned || c.kind == core.Start && c.err == nil {
		return names
	}
	done := map[string]bool{}
	for _, name := range c.names {
		done[name] = true
	}
	var out []string
	for _, name := range names {
		if !done[name] {
			out = append(out, name)
		}
	}
	return out
}

// startActions begins the machine's actions.
func (m *member) startActions(actions []core.Action) {
	for _, a := range actions {
		switch a.Kind {
		case core.Acquire:
			m.wantBarriers(a.Resources)
		case core.Abandon:
			m.dropBarriers(a.Resources)
		case core.Start:
			m.startResources(a.Resources)
		case core.Revoke:
			m.revokeResources(a.Resources)
		case core.Release:
			m.giveBack(a.Resources)
		case core.Ack:
			m.acknowledge(a.Generation)
		case core.Unack:
			m.withdrawAck(a.Generation)
		case core.Leave:
			m.left = true
		}
	}
	if m.call != nil && m.call.kind == core.Start && m.f.Unwanted() {
		m.call.end(ErrRevoked)
		if !m.f.Wanted() {
			m.call.dropDelay()
		}
	}
	if m.g.opts.StartWhenComplete && !m.left {
		m.showState()
	}
}

// callHandler calls the handler, and tells the machine when it has returned.
func (m *member) callHandler(c *call, f func(ctx context.Context) error, after event) {
	m.call = c
	ctx, end := session.WithHolds(m.ctx)
	c.end = end
	// leave and lost wait for it; it ends with the handler's call.
	m.work.Go(func() {
		err := errGoexit
		defer func() {
			m.box.Post(func() []core.Action {
				end(nil)
				m.call = nil
				m.noteSkipped(c)
				// The member leaves first, so that no unwanted resource is started:
				// during a call of a handler, the machine calls no other.
				return append(m.spoilCall(c, err), after()...)
			})
			c.returned, c.err = true, err
		}()
		err = callProtected("the handler", func() error { return f(ctx) })
	})
}

// spoilCall notes the resources with which the handler has failed: it is not called for these
// again, and everything is given up.
func (m *member) spoilCall(c *call, err error) []core.Action {
	if err == nil {
		return nil
	}
	for _, name := range c.names {
		m.broken[name] = true
	}
	return m.quitGroup(err)
}

// startResources calls the handler for resources that are owned now.
func (m *member) startResources(names []string) {
	rs := make([]*Resource, 0, len(names))
	for _, name := range names {
		r := m.resourceOf(name)
		m.owned[name] = r
		delete(m.untold, name)
		rs = append(rs, r)
	}
	m.showState()
	c := &call{kind: core.Start, names: names, unwanted: make(chan struct{})}
	m.callHandler(c, func(ctx context.Context) error {
		if c.untold = !m.delayCall(c); c.untold {
			return nil
		}
		m.observeResources(rs)
		return m.g.handler.Assigned(ctx, rs)
	}, func() []core.Action { return m.f.Started(names) })
}

func (m *member) resourceOf(name string) *Resource {
	r := &Resource{name: name, token: m.token, member: m.guardMember(), barrier: m.held[name]}
	if r.barrier != nil {
		r.token = r.barrier.Token()
	}
	r.ctx, r.end = session.WithHolds(m.ctx)
	return r
}

// revokeResources calls the handler for resources to give up, and ends their contexts when the
// handler has returned.
func (m *member) revokeResources(names []string) {
	rs, observed := m.resourcesOf(names), m.observedOf(names)
	c := &call{kind: core.Revoke, names: names}
	m.callHandler(c, func(ctx context.Context) error {
		defer endResources(observed, ErrRevoked, nil) // whatever the handler does
		if len(rs) == 0 {
			return nil
		}
		defer m.limitCall(c, rs)()
		return m.g.handler.Revoked(ctx, rs)
	}, func() []core.Action {
		for _, name := range names {
			m.owned[name].end(ErrRevoked)
			delete(m.owned, name)
		}
		m.showState()
		return m.f.Revoked(names)
	})
}

// limitCall ends the contexts of resources to give up if the handler takes too long, unless it
// is stopped before.
func (m *member) limitCall(c *call, rs []*Resource) (stop func() bool) {
	d := m.g.opts.RevokeTimeout
	if d == 0 {
		return func() bool { return true }
	}
	if e, may := m.g.handler.(*each); may {
		grace, _ := e.graceLeft()
		d += grace
	}
	return time.AfterFunc(d, func() {
		c.end(ErrRevokeTimeout)
		endResources(rs, ErrRevokeTimeout, ErrRevokeTimeout)
	}).Stop
}

// giveBack releases barriers.
func (m *member) giveBack(names []string) {
	held := make([]*locktable.Held, 0, len(names))
	for _, name := range names {
		held = append(held, m.held[name])
		delete(m.held, name)
	}
	released := func() { m.box.Post(func() []core.Action { return m.f.Released(names) }) }
	m.goOn(func(ctx context.Context) error {
		err := m.releaseBarriers(ctx, held)
		if err == nil {
			released()
		}
		return err
	}, released)
}

// acknowledge acknowledges that this member has stopped for a generation. If another client
// deletes the acknowledgment, acknowledge creates it again, until it is withdrawn: the
// coordinator may wait for it indefinitely. No other client creates a node of this name: an
// existing node was created by an earlier attempt.
func (m *member) acknowledge(generation int64) {
	path, acked := m.at.stoppedPath(m.client, generation), func() {
		m.box.Post(func() []core.Action { return m.f.Acked(generation) })
	}
	standing, end := context.WithCancelCause(m.working)
	w := &acknowledgment{end: end, over: make(chan struct{})}
	m.acked[generation] = w
	m.goOn(func(context.Context) error {
		defer close(w.over)
		for {
			err := m.s.Retry(standing, func() error {
				_, err := m.s.Create(standing, path, nil, session.Ephemeral, m.createOptions())
				return err
			})
			if err != nil && !errors.Is(err, session.ErrNodeExists) {
				return w.writeError(standing, err)
			}
			acked()
			if err := m.awaitRemoval(standing, path); err != nil {
				return w.writeError(standing, err)
			}
		}
	}, acked)
}

// acknowledgment is the znode of a member that says that it has stopped.
type acknowledgment struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when the znode is no longer created
}

// writeError is err, unless the acknowledgment is to be taken back.
func (w *acknowledgment) writeError(standing context.Context, err error) error {
	if standing.Err() != nil {
		return nil //nolint:nilerr // it was to end
	}
	return err
}

// withdrawAck takes an acknowledgment back.
func (m *member) withdrawAck(generation int64) {
	w := m.acked[generation]
	w.end(session.ErrReleased)
	unacked := func() { m.box.Post(func() []core.Action { return m.f.Unacked(generation) }) }
	m.goOn(func(ctx context.Context) error {
		<-w.over
		if err := m.s.EnsureDeleted(ctx, m.at.stoppedPath(m.client, generation)); err != nil {
			return err
		}
		m.box.Post(func() []core.Action {
			delete(m.acked, generation)
			return m.f.Unacked(generation)
		})
		return nil
	}, unacked)
}
