package rebalanser

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/mailbox"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// event is an event that the member's goroutine must tell the machine.
type event func() []core.Action

// member is one client node's life, from its creation until it has gone. The goroutine of
// Run owns the machine and its state. Other goroutines do all waiting, and tell the
// goroutine of Run by the mailbox.
type member struct {
	memberNode
	g        *Group
	hold     *session.Hold
	place    *election.Candidacy
	instance *lock.Held // nil for a dynamic member

	// ctx has the values of Run's, and ends with the hold: handlers' contexts are
	// derived from it. working ends before, when the member has given everything up:
	// it is for all the goroutines that work counts.
	ctx     context.Context
	end     context.CancelCauseFunc
	working context.Context
	stop    context.CancelCauseFunc
	work    sync.WaitGroup
	box     *mailbox.Mailbox[event]
	// In resource mode, owner is the client as the owner of barriers, and acquirer takes
	// them.
	owner    *locktable.Owner
	acquirer *locktable.Acquirer

	f      *core.Follower
	held   map[string]*locktable.Held // the barriers that are held
	owned  map[string]*Resource       // the resources that the handler was told of
	broken map[string]bool            // what a failing call of the handler was about
	untold map[string]bool            // what the handler was to be told of, and was not
	call   *call                      // the call in progress
	token  int64                      // global mode: of the resources gained now
	acked  map[int64]*acknowledgment  // global mode: by generation, of what the member has stopped
	// quitting: the member gives everything up. failure is the reason; nil if ctx has
	// ended or the member joins again. left: nothing is left to give up.
	quitting, left bool
	failure        error
	// busy: it owned something when it began to give everything up.
	busy  bool
	fault chan error // has a failure between calls until it is dealt with
	leads bool
	// unsettled is since when the member does not have exactly what it is assigned; zero if
	// it does, or gives everything up. It is noted for an observer.
	unsettled time.Time
	unplanned error // why the coordinator shares nothing out
}

func newMember(ctx context.Context, g *Group, hold *session.Hold, place *election.Candidacy, instance *lock.Held) (*member, error) {
	m := &member{g: g, hold: hold, place: place, instance: instance, box: mailbox.New[event](), fault: make(chan error, 1)}
	m.memberNode = memberNode{s: hold.Session(), at: g.at, client: znode.Base(hold.Path()), acl: g.opts.ACL}
	m.ctx, m.end = session.WithHolds(context.WithoutCancel(ctx), hold.Context())
	m.working, m.stop = context.WithCancelCause(m.ctx)
	m.f = core.NewFollower(g.opts.Mode.coreMode(), m.client, g.opts.StartWhenComplete)
	m.held, m.owned, m.broken, m.untold, m.acked = map[string]*locktable.Held{}, map[string]*Resource{}, map[string]bool{}, map[string]bool{}, map[int64]*acknowledgment{}
	if g.opts.Mode == ResourceBarrier {
		var err error
		if m.owner, err = g.at.barrierTable(g.client, g.opts.ACL).OwnedBy(hold); err != nil {
			return nil, err
		}
		m.acquirer = m.owner.Acquirer(m.noteTaken, m.isAbandoned)
	}
	return m, nil
}

// runUntilLeft is the member's life. It returns nil if the member has left because ctx has ended,
// errRejoin if the member must join again as another client, and otherwise the failure.
func (m *member) runUntilLeft(ctx context.Context) error {
	defer m.end(session.ErrReleased)
	m.startWork()
	m.showState()
	m.performActions(ctx)
	if m.left {
		return m.leaveGroup(ctx)
	}
	return m.endLost(ctx)
}

// shardKey is the name of the member's shard.
func (m *member) shardKey() string {
	if m.instance != nil {
		return m.g.opts.Instance
	}
	return m.client
}

// startWork starts the goroutines that work for the member.
func (m *member) startWork() {
	m.goOn(m.followAssignment)
	m.goOn(m.coordinate)
	if m.g.opts.Mode == ResourceBarrier {
		m.goOn(m.acquireBarriers)
	}
	if m.instance != nil {
		m.goOn(m.keepInstance)
	}
	if e, may := m.g.handler.(*each); may {
		if e.startMembership(); e.retry > 0 {
			m.goOn(func(ctx context.Context) error { return m.reportFailures(ctx, e) })
		}
	}
	if h, may := m.g.handler.(failing); may {
		m.goOn(func(ctx context.Context) error {
			select {
			case err := <-h.reportedFailures():
				m.fault <- err
				m.box.Post(func() []core.Action { return m.quitGroup(<-m.fault) })
				return nil
			case <-ctx.Done():
				return nil
			}
		})
	}
}

// goOn runs f concurrently with the member. If f fails, the member leaves. The machine waits
// for every action that it has begun, so instead answers the machine in place of f:
// everything that f held goes with the client's node.
func (m *member) goOn(f func(ctx context.Context) error, instead ...func()) {
	// leave and lost wait for it; it ends with working.
	m.work.Go(func() {
		err := callIsolated("the member", func() error { return f(m.working) }) // an assignor is called in it
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
			// The group's znodes were deleted: the next member that joins creates
			// them again.
			m.box.Post(func() []core.Action { return m.quitGroup(errRejoin) })
		default:
			m.box.Post(func() []core.Action { return m.quitGroup(err) })
		}
	})
}

// keepInstance notices that the lock on the instance is lost: then another member may
// join with the same instance id.
func (m *member) keepInstance(ctx context.Context) error {
	select {
	case <-m.instance.Context().Done():
		return errRejoin
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// performActions carries out the machine's actions until the member has left, or is lost.
func (m *member) performActions(ctx context.Context) {
	over := ctx.Done()
	for !m.left {
		select {
		case <-m.hold.Context().Done():
			return
		case <-m.box.Ready():
			for _, happened := range m.box.Take() {
				m.startActions(happened())
				m.observeAssignment()
			}
		case <-over:
			over = nil
			m.beginGrace()
			m.startActions(m.quitGroup(nil))
		}
	}
}

// quitGroup tells the machine to give everything up, for a reason: nil if the member must just
// end, errRejoin if it must join again as another client.
func (m *member) quitGroup(why error) []core.Action {
	m.busy = m.busy || len(m.owned)+len(m.held) > 0
	m.quitting = true
	if why != nil && !errors.Is(why, errRejoin) {
		m.failure = errors.Join(m.failure, why)
	}
	m.showState()
	return m.f.Quit()
}

// resourcesOf are the resources of these names that the handler was told of, in their order.
func (m *member) resourcesOf(names []string) []*Resource {
	var rs []*Resource
	for _, name := range names {
		if r := m.owned[name]; r != nil && !m.broken[name] && !m.untold[name] {
			rs = append(rs, r)
		}
	}
	return rs
}

// showState tells the member's state.
func (m *member) showState() {
	phase := joined
	if m.quitting {
		phase = leaving
	}
	s := State{Phase: phase, Client: m.client, Coordinator: m.leads, Owned: len(m.owned), Missing: m.f.Missing(), Err: m.unplanned}
	if e, may := m.g.handler.(*each); may {
		s.Failing = e.countFailing()
	}
	m.g.setState(s)
}

// noteTaken tells of barriers that are held.
func (m *member) noteTaken(got []*locktable.Held) {
	m.box.Post(func() []core.Action {
		names := make([]string, 0, len(got))
		for _, held := range got {
			m.held[held.Name()] = held
			names = append(names, held.Name())
		}
		slices.Sort(names)
		return m.f.Acquired(names)
	})
}
