package rebalanser

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// event is something that has happened, to be told to the machine by the member's
// goroutine.
type event func() []core.Action

// member is one client node's life: from when it was created until it has gone. One
// goroutine, that of Run, owns the machine and what belongs to it; everything that
// waits is done by others, which tell it by the mailbox.
type member struct {
	seat
	g        *Group
	hold     *session.Hold
	place    *election.Candidacy
	instance *lock.Held // nil for a dynamic member

	// ctx has the values of Run's, and ends with the hold: it is what contexts of
	// handlers come from. working ends before, when the member has given
	// everything up: it is for all the goroutines that work counts.
	ctx     context.Context
	end     context.CancelCauseFunc
	working context.Context
	stop    context.CancelCauseFunc
	work    sync.WaitGroup
	box     *mailbox[event]
	taker   *taker

	f      *core.Follower
	grips  map[string]grip      // of the barriers that are held
	owned  map[string]*Resource // what the handler was told of
	broken map[string]bool      // what a failing call of the handler was about
	call   *call                // the one that is under way
	token  int64                // global mode: of what is gained now
	said   map[int64]*word      // global mode: for which it has said that it stopped
	// quitting: it gives everything up; failure is why, unless it is as ctx has
	// ended or as it is to become another client. left: nothing is left to give up.
	quitting, left bool
	failure        error
	fault          chan error // has a failure between calls until it is dealt with
	leads          bool
	unplanned      error // why the coordinator shares nothing out
}

func newMember(ctx context.Context, g *Group, hold *session.Hold, place *election.Candidacy, instance *lock.Held) *member {
	m := &member{g: g, hold: hold, place: place, instance: instance, box: newMailbox[event](), fault: make(chan error, 1)}
	m.seat = seat{s: hold.Session(), at: g.at, client: lastElement(hold.Path()), acl: g.opts.ACL}
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	m.ctx, m.end = last(inner, end, hold), end
	m.working, m.stop = context.WithCancelCause(m.ctx)
	m.f = core.NewFollower(g.opts.Mode.core(), m.client)
	m.grips, m.owned, m.broken, m.said = map[string]grip{}, map[string]*Resource{}, map[string]bool{}, map[int64]*word{}
	m.taker = newTaker(&m.seat, m.took, func(rs []string) {
		m.box.post(func() []core.Action { return m.f.Abandoned(rs) })
	})
	return m
}

// run is the member's life. It returns nil when it has left as ctx has ended,
// errRejoin when it is to become another client, and otherwise what went wrong.
func (m *member) run(ctx context.Context) error {
	unhold := context.AfterFunc(m.hold.Context(), func() { m.end(context.Cause(m.hold.Context())) })
	defer unhold()
	defer m.end(session.ErrReleased)
	m.begin()
	m.show()
	m.live(ctx)
	if m.left {
		return m.leave(ctx)
	}
	return m.lost(ctx)
}

// key is what the member's shard is called.
func (m *member) key() string {
	if m.instance != nil {
		return m.g.opts.Instance
	}
	return m.client
}

// begin starts what works for the member.
func (m *member) begin() {
	m.goOn(m.read)
	m.goOn(m.coordinate)
	if m.g.opts.Mode == ResourceBarrier {
		m.goOn(m.taker.run, func() { m.goOn(m.taker.refuse) })
	}
	if m.instance != nil {
		m.goOn(m.keepInstance)
	}
	if h, may := m.g.handler.(failing); may {
		m.goOn(func(ctx context.Context) error {
			select {
			case err := <-h.failed():
				m.fault <- err
				m.box.post(func() []core.Action { return m.quit(<-m.fault) })
				return nil
			case <-ctx.Done():
				return nil
			}
		})
	}
}

// goOn runs f beside the member. When it cannot go on, the member leaves, and for
// that instead of f answers the machine, which waits for all that it has begun: what f
// was about goes with the client's node.
func (m *member) goOn(f func(ctx context.Context) error, instead ...func()) {
	// leave and lost wait for it; it ends with working.
	m.work.Go(func() {
		err := protect("the member", func() error { return f(m.working) })
		if err != nil {
			defer func() {
				for _, answer := range instead {
					answer()
				}
			}()
		}
		switch {
		case err == nil || m.working.Err() != nil || m.s.Err() != nil:
		case errors.Is(err, errNodeGone):
			m.hold.End(err)
		case errors.Is(err, session.ErrNoNode):
			// Somebody has removed what the group consists of: who joins makes it
			// again.
			m.box.post(func() []core.Action { return m.quit(errRejoin) })
		default:
			m.box.post(func() []core.Action { return m.quit(err) })
		}
	})
}

// keepInstance notices that the lock on the instance is lost: then another member may
// come to be the same.
func (m *member) keepInstance(ctx context.Context) error {
	select {
	case <-m.instance.Context().Done():
		return errRejoin
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// live does what the machine says, until it has nothing any more, or is lost.
func (m *member) live(ctx context.Context) {
	over := ctx.Done()
	for !m.left {
		select {
		case <-m.hold.Context().Done():
			return
		case <-m.box.ready:
			for _, happened := range m.box.take() {
				m.do(happened())
			}
		case <-over:
			over = nil
			m.do(m.quit(nil))
		}
	}
}

// quit tells the machine to give everything up, for a reason: nil if it shall just end,
// errRejoin if it is to become another client.
func (m *member) quit(why error) []core.Action {
	m.quitting = true
	if why != nil && !errors.Is(why, errRejoin) {
		m.failure = errors.Join(m.failure, why)
	}
	m.show()
	return m.f.Quit()
}

// leave withdraws the client, which owns nothing any more, and then frees its
// instance.
func (m *member) leave(ctx context.Context) error {
	m.finish()
	m.hold.End(session.ErrReleased)
	m.away(ctx)
	return m.verdict(ctx)
}

// verdict is how the life has ended: why it could not go on, nil as it was to end, or
// errRejoin.
func (m *member) verdict(ctx context.Context) error {
	if m.failure != nil {
		return m.failure
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was to end
	}
	return errRejoin
}

// lost tells the handler, when a call that is under way has returned, what is not
// owned any more.
func (m *member) lost(ctx context.Context) error {
	why := context.Cause(m.hold.Context())
	m.end(why)
	m.finish()
	names := m.f.Lost()
	if m.call != nil {
		names = m.call.afterwards(names)
		m.failure = errors.Join(m.failure, m.call.err)
	}
	if rs := m.resources(names); len(rs) > 0 {
		err := protect("the handler", func() error { m.g.handler.Lost(rs); return nil })
		m.failure = errors.Join(m.failure, err)
		m.faults() // of functions that have ended just now
		if ctx.Err() != nil {
			m.failure = errors.Join(m.failure, why) // it has not left in order
		}
	}
	m.away(ctx)
	return m.verdict(ctx)
}

// finish waits until nothing works for the member any more, handlers included. What
// has failed between their calls, as the member was lost, counts.
func (m *member) finish() {
	m.stop(session.ErrReleased)
	m.work.Wait()
	m.faults()
}

// faults notes what has failed between calls, when nobody else listens any more.
func (m *member) faults() {
	select {
	case err := <-m.fault: // nobody reads the mailbox any more
		m.failure = errors.Join(m.failure, err)
	default:
	}
	if h, may := m.g.handler.(failing); may {
		select {
		case err := <-h.failed():
			m.failure = errors.Join(m.failure, err)
		default:
		}
	}
}

// away removes what stands for the client.
func (m *member) away(ctx context.Context) {
	for generation := range m.said {
		m.g.away(ctx, m.s, func(ctx context.Context) error { return m.s.Discard(ctx, m.at.stopped(m.client, generation)) })
	}
	m.g.away(ctx, m.s, m.place.Withdraw)
	if m.instance != nil {
		m.g.away(ctx, m.s, m.instance.Unlock)
	}
}

// resources are those of what the handler was told of, in their order.
func (m *member) resources(names []string) []*Resource {
	var rs []*Resource
	for _, name := range names {
		if r := m.owned[name]; r != nil && !m.broken[name] {
			rs = append(rs, r)
		}
	}
	return rs
}

// show tells the member's state.
func (m *member) show() {
	phase := joined
	if m.quitting {
		phase = leaving
	}
	m.g.set(State{Phase: phase, Client: m.client, Coordinator: m.leads, Owned: len(m.owned), Err: m.unplanned})
}

// took tells of barriers that are held.
func (m *member) took(got map[string]grip) {
	m.box.post(func() []core.Action {
		names := make([]string, 0, len(got))
		for name, g := range got {
			m.grips[name] = g
			names = append(names, name)
		}
		slices.Sort(names)
		return m.f.Acquired(names)
	})
}
