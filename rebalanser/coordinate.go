package rebalanser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/mailbox"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// input is a source of the coordinator's decisions.
type input int

// The inputs, in the order in which they are read when several have changed: first the
// inputs that can stop the coordinator.
const (
	epoch     input = iota // whether it still coordinates
	config                 // whether the group is paused
	clients                // children of clients: the live members
	resources              // children of resources
	acks                   // global mode: children of stopped
	moves                  // resource mode: moves in progress, if they are limited
	leftovers              // resource mode: barriers of resources that were removed
)

// coordination is one election's coordinator: one goroutine, which reads the changed
// inputs, asks the machine for the next step, and carries it out before it reads again. Only
// plans are computed by another goroutine meanwhile.
type coordination struct {
	*memberNode
	opts    *Options
	machine *core.Coordinator
	planner planner
	changed *mailbox.Mailbox[input]
	watches map[input]*session.Watch
	wake    time.Time

	records *stm.Transactor // writes the epoch and the status
	version int32           // of the epoch that it has written
	epoch   int64
	members members
	shards  shards
	status  core.Status
	told    int32 // version of the status
	// statusKept are fields of the status that a newer version has written.
	statusKept versioned.Kept
	missing    int // for how many members the status waited when last looked at
	resources  *resourceList
	unswept    int              // resources removed since the barriers were swept
	owner      *locktable.Owner // in resource mode
	moving     moveTracker
	leftovers  *locktable.Watch // of barriers that were owned when they were to be deleted
	// planned receives the result of the last plan: nil, or why no plan was made.
	planned func(error)
	reports *reporter // nil without an observer
	// unreadable: the configuration has a format that this version does not know.
	unreadable bool
}

// coordinate waits until the member is the first of the clients, and coordinates until it
// has left, or another client coordinates. In the second case the member joins again as
// another client at the end of the queue: it was absent for so long that the other clients
// have gone on without it.
func (m *member) coordinate(ctx context.Context) error {
	lead, err := m.place.Await(ctx)
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, session.ErrLost) {
			err = errNodeGone
		}
		return err
	}
	m.box.Post(func() []core.Action { m.leads = true; m.showState(); return nil })
	c := newCoordination(m.g.client, &m.memberNode, m.owner, &m.g.opts)
	c.planned = func(err error) {
		m.box.Post(func() []core.Action { m.unplanned = err; m.showState(); return nil })
	}
	err = c.coordinateUntil(ctx)
	switch {
	case lead.Context().Err() != nil:
		return errNodeGone
	case errors.Is(err, errDeposed):
		return errRejoin
	}
	return err
}

func newCoordination(client *session.Client, p *memberNode, owner *locktable.Owner, o *Options) *coordination {
	c := &coordination{
		memberNode: p, opts: o, changed: mailbox.New[input](), watches: map[input]*session.Watch{},
		members: members{p: p, mode: o.Mode, known: map[string]candidate{}}, shards: newShards(p),
		owner: owner, moving: moveTracker{owner: owner},
		records: stm.NewIdempotent(client, string(p.at), nil), reports: newReporter(client, p.at),
	}
	c.resources = newResourceList(p, func() { c.changed.Post(resources) })
	return c
}

// coordinateUntil coordinates until ctx ends, or it cannot any more.
func (c *coordination) coordinateUntil(ctx context.Context) (err error) {
	defer func() {
		c.reports.reportEnd(ctx, err)
		for _, w := range c.watches {
			w.Stop()
		}
		c.resources.stop()
		c.moving.stopWatch()
		c.leftovers.Stop()
		c.planner.stop()
	}()
	if err := c.raiseEpoch(ctx); err != nil {
		return err
	}
	if err := c.s.Retry(ctx, func() error { return c.inheritPlan(ctx) }); err != nil {
		return err
	}
	c.machine = core.NewCoordinator(c.opts.coreConfig(), time.Now(), c.shards.coreShards(), c.status)
	c.changed.Post(epoch, config, clients, resources)
	if c.opts.Mode == ResourceBarrier {
		c.changed.Post(leftovers)
	}
	return c.handleInputs(ctx)
}

func (c *coordination) handleInputs(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(c.untilTick())
		select {
		case <-c.changed.Ready():
			if err := c.readChanged(ctx); err != nil {
				return err
			}
		case err := <-c.planner.over:
			c.planner.forget()
			switch {
			case err != nil:
				return err
			case ctx.Err() != nil:
				return context.Cause(ctx) // perhaps the plan was not computed
			}
			if err := c.performSteps(ctx, c.machine.Planned(time.Now(), c.planner.plan, *c.planner.result)); err != nil {
				return err
			}
		case <-timer.C:
			if due := c.resources.checkDue(); !due.IsZero() && !time.Now().Before(due) {
				c.changed.Post(resources)
			}
			if err := c.performSteps(ctx, c.machine.Tick(time.Now())); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// untilTick is the time until the machine is to be called, or the resources are to be checked.
func (c *coordination) untilTick() time.Duration {
	wait := time.Hour
	for _, at := range []time.Time{c.wake, c.resources.checkDue()} {
		if !at.IsZero() {
			wait = min(wait, max(time.Nanosecond, time.Until(at)))
		}
	}
	return wait
}

// readChanged reads the changed inputs, each once.
func (c *coordination) readChanged(ctx context.Context) error {
	due := map[input]bool{}
	for _, in := range c.changed.Take() {
		due[in] = true
	}
	for in := epoch; in <= leftovers; in++ {
		if !due[in] {
			continue
		}
		if err := c.s.Retry(ctx, func() error { return c.readInput(ctx, in) }); err != nil {
			return err
		}
	}
	return nil
}

// watchInput notes the watch of an input.
func (c *coordination) watchInput(in input, w *session.Watch) {
	if old := c.watches[in]; old != nil {
		old.Stop()
	}
	c.watches[in] = w
	w.OnFire(func(session.Event) { c.changed.Post(in) })
}

// performSteps carries out the machine's steps, until the next step is to wait.
func (c *coordination) performSteps(ctx context.Context, s core.Step) error {
	for {
		c.wake = s.Wake
		c.reports.noteStep(ctx, s, c)
		if s.AwaitMoves != nil {
			c.moving.moves = slices.Clone(s.AwaitMoves)
			c.reports.reportMoved(ctx, c.moving.moves)
			c.changed.Post(moves)
		}
		if s.Plan != nil {
			c.planner.start(ctx, s.Plan)
		}
		if s.Planned {
			c.planned(s.Err)
		}
		switch {
		case s.Write != nil:
			if err := c.writePlan(ctx, s.Write); err != nil {
				return err
			}
			if c.opts.Mode == ResourceBarrier && c.opts.MaxMoves == 0 {
				c.reports.reportMoved(ctx, nil)
			}
			s = c.machine.Wrote(time.Now())
		case s.SetStatus != nil:
			if err := c.setStatus(ctx, *s.SetStatus); err != nil {
				return err
			}
			if s.SetStatus.State == core.Confirmed {
				c.reports.reportMoved(ctx, nil)
			}
			c.changed.Post(acks)
			s = c.machine.StatusSet(time.Now())
		default:
			return nil
		}
	}
}
