package rebalanser

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// call is a call of a handler that is under way.
type call struct {
	kind  core.Kind // Start or Revoke
	names []string
	// end ends the context of the call.
	end context.CancelCauseFunc
	// returned and err are what became of it, once that is in the mailbox.
	returned bool
	err      error
}

// afterwards is what of names, which were lost, the handler has to be told of: not
// what it has given up before, or has failed with.
func (c *call) afterwards(names []string) []string {
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

// do begins what the machine says.
func (m *member) do(actions []core.Action) {
	for _, a := range actions {
		switch a.Kind {
		case core.Acquire:
			m.taker.orders.post(order{take: a.Resources})
		case core.Abandon:
			m.taker.orders.post(order{drop: a.Resources})
		case core.Start:
			m.start(a.Resources)
		case core.Revoke:
			m.revoke(a.Resources)
		case core.Release:
			m.giveBack(a.Resources)
		case core.Ack:
			m.ack(a.Generation)
		case core.Unack:
			m.unack(a.Generation)
		case core.Leave:
			m.left = true
		}
	}
	if m.call != nil && m.call.kind == core.Start && m.f.Unwanted() {
		m.call.end(ErrRevoked)
	}
}

// handle calls the handler, and tells the machine when it has returned.
func (m *member) handle(c *call, f func(ctx context.Context) error, after event) {
	m.call = c
	inner, end := context.WithCancelCause(m.ctx)
	ctx := last(inner, end, m.hold)
	c.end = end
	// leave and lost wait for it; it ends with the handler's call.
	m.work.Go(func() {
		err := errGoexit
		defer func() {
			m.box.post(func() []core.Action {
				end(nil)
				m.call = nil
				// First it leaves, so that nothing is started that would not be
				// wanted: while a handler is being called, the machine calls none.
				return append(m.spoil(c, err), after()...)
			})
			c.returned, c.err = true, err
		}()
		err = protect("the handler", func() error { return f(ctx) })
	})
}

// spoil notes that the handler has failed with something: it is not called for that
// again, and everything is given up.
func (m *member) spoil(c *call, err error) []core.Action {
	if err == nil {
		return nil
	}
	for _, name := range c.names {
		m.broken[name] = true
	}
	return m.quit(err)
}

// start calls the handler for what is owned now.
func (m *member) start(names []string) {
	rs := make([]*Resource, 0, len(names))
	for _, name := range names {
		r := m.resource(name)
		m.owned[name] = r
		rs = append(rs, r)
	}
	m.show()
	m.handle(&call{kind: core.Start, names: names},
		func(ctx context.Context) error { return m.g.handler.Assigned(ctx, rs) },
		func() []core.Action { return m.f.Started(names) })
}

func (m *member) resource(name string) *Resource {
	r := &Resource{name: name, token: m.token, guard: []session.Op{m.guard()}}
	if g, barred := m.grips[name]; barred {
		r.token = g.token
		r.guard = append(r.guard, m.s.CheckOp(m.at.barrier(name), g.version))
	}
	inner, end := context.WithCancelCause(m.ctx)
	r.ctx, r.end = last(inner, end, m.hold), end
	return r
}

// revoke calls the handler for what is to be given up, which ends the contexts of
// that when it has returned.
func (m *member) revoke(names []string) {
	rs := m.resources(names)
	c := &call{kind: core.Revoke, names: names}
	m.handle(c, func(ctx context.Context) error {
		if len(rs) == 0 {
			return nil
		}
		defer m.limit(c, rs)()
		return m.g.handler.Revoked(ctx, rs)
	}, func() []core.Action {
		for _, name := range names {
			m.owned[name].end(ErrRevoked)
			delete(m.owned, name)
		}
		m.show()
		return m.f.Revoked(names)
	})
}

// limit ends the contexts of what is to be given up when that takes too long, unless
// it is stopped before.
func (m *member) limit(c *call, rs []*Resource) (stop func() bool) {
	d := m.g.opts.RevokeTimeout
	if d == 0 {
		return func() bool { return true }
	}
	return time.AfterFunc(d, func() {
		c.end(ErrRevokeTimeout)
		for _, r := range rs {
			r.end(ErrRevokeTimeout)
		}
	}).Stop
}

// giveBack releases barriers.
func (m *member) giveBack(names []string) {
	grips := make(map[string]grip, len(names))
	for _, name := range names {
		grips[name] = m.grips[name]
		delete(m.grips, name)
	}
	released := func() { m.box.post(func() []core.Action { return m.f.Released(names) }) }
	m.goOn(func(ctx context.Context) error {
		err := m.release(ctx, grips, names)
		if err == nil {
			released()
		}
		return err
	}, released)
}

// ack says that everything has been stopped that a generation wants to be, and says
// it again if somebody removes the word, until it is taken back: the coordinator may
// wait for it for ever. Nobody else creates a node of this name: one that exists is
// what an attempt before has created.
func (m *member) ack(generation int64) {
	path, acked := m.at.stopped(m.client, generation), func() {
		m.box.post(func() []core.Action { return m.f.Acked(generation) })
	}
	standing, end := context.WithCancelCause(m.working)
	w := &word{end: end, over: make(chan struct{})}
	m.said[generation] = w
	m.goOn(func(context.Context) error {
		defer close(w.over)
		for {
			err := m.s.Retry(standing, func() error {
				_, err := m.s.Create(standing, path, nil, session.Ephemeral, m.created())
				return err
			})
			if err != nil && !errors.Is(err, session.ErrNodeExists) {
				return w.verdict(standing, err)
			}
			acked()
			_, there, watch, err := m.s.ExistsW(standing, path)
			if err == nil && there {
				select {
				case <-watch.Done():
				case <-standing.Done():
					watch.Forget() // the deletion fires it
				}
			} else if err == nil {
				watch.Stop()
			}
			if err != nil && !session.Interrupted(err) {
				return w.verdict(standing, err)
			}
		}
	}, acked)
}

// word is that of a member that it has stopped.
type word struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when nobody gives it any more
}

// verdict is err, unless the word is to be taken back.
func (w *word) verdict(standing context.Context, err error) error {
	if standing.Err() != nil {
		return nil //nolint:nilerr // it was to end
	}
	return err
}

// unack takes it back.
func (m *member) unack(generation int64) {
	w := m.said[generation]
	w.end(session.ErrReleased)
	unacked := func() { m.box.post(func() []core.Action { return m.f.Unacked(generation) }) }
	m.goOn(func(ctx context.Context) error {
		<-w.over
		if err := m.s.Discard(ctx, m.at.stopped(m.client, generation)); err != nil {
			return err
		}
		m.box.post(func() []core.Action {
			delete(m.said, generation)
			return m.f.Unacked(generation)
		})
		return nil
	}, unacked)
}

// lastElement is the name of a znode.
func lastElement(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
