package rebalanser

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// input is something that a coordinator goes by.
type input int

// The inputs, in the order in which they are read when several have changed: first what
// keeps it from doing anything.
const (
	epoch     input = iota // whether it still coordinates
	config                 // whether the group is paused
	clients                // children of clients: who is alive
	resources              // children of resources
	acks                   // global mode: children of stopped
	moves                  // resource mode: moves that are under way, if they are limited
	leftovers              // resource mode: barriers of resources that were removed
)

// coordination is one election's coordinator: one goroutine, which reads what has
// changed, asks the machine, and does what it says before it looks again.
type coordination struct {
	*seat
	opts    *Options
	machine *core.Coordinator
	changed *mailbox[input]
	watches map[input]*session.Watch
	wake    time.Time

	version int32 // of the epoch that it has written
	epoch   int64
	roll    roll
	shards  shards
	status  core.Status
	told    int32    // version of the status
	missing int      // for how many members the status waited when last looked at
	watched []string // the resources, as last read
	moving  trail
	sweep   sweeper
	// planned tells what has become of the last plan: nil, or why there is none.
	planned func(error)
}

// coordinate waits until the member is the first of the clients, and coordinates until
// it has left, or somebody else does. Then it becomes another client, at the end of
// the queue: if it is not the coordinator although it is the first one, it has been
// away for so long that others have gone on without it.
func (m *member) coordinate(ctx context.Context) error {
	lead, err := m.place.Await(ctx)
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, session.ErrLost) {
			err = errNodeGone
		}
		return err
	}
	m.box.post(func() []core.Action { m.leads = true; m.show(); return nil })
	c := newCoordination(&m.seat, &m.g.opts)
	c.planned = func(err error) {
		m.box.post(func() []core.Action { m.unplanned = err; m.show(); return nil })
	}
	err = c.run(ctx)
	switch {
	case lead.Context().Err() != nil:
		return errNodeGone
	case errors.Is(err, errDeposed):
		return errRejoin
	}
	return err
}

func newCoordination(p *seat, o *Options) *coordination {
	return &coordination{
		seat: p, opts: o, changed: newMailbox[input](), watches: map[input]*session.Watch{},
		roll: roll{p: p, mode: o.Mode, known: map[string]candidate{}}, shards: shards{p: p, has: map[string]written{}},
		moving: trail{p: p}, sweep: sweeper{p: p, owners: map[string]*session.Watch{}},
	}
}

// run coordinates until ctx ends, or it cannot any more.
func (c *coordination) run(ctx context.Context) error {
	defer func() {
		for _, w := range c.watches {
			w.Stop()
		}
		c.moving.stop()
		c.sweep.stop()
	}()
	if err := c.s.Retry(ctx, func() error { return c.raise(ctx) }); err != nil {
		return err
	}
	if err := c.s.Retry(ctx, func() error { return c.inherit(ctx) }); err != nil {
		return err
	}
	c.machine = core.NewCoordinator(c.opts.config(), time.Now(), c.shards.present(), c.status)
	c.changed.post(epoch, config, clients, resources)
	if c.opts.Mode == ResourceBarrier {
		c.changed.post(leftovers)
	}
	return c.loop(ctx)
}

func (c *coordination) loop(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(time.Hour)
		if !c.wake.IsZero() {
			timer.Reset(max(time.Nanosecond, time.Until(c.wake)))
		}
		select {
		case <-c.changed.ready:
			if err := c.lookAll(ctx); err != nil {
				return err
			}
		case <-timer.C:
			if err := c.do(ctx, c.machine.Tick(time.Now())); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lookAll reads what has changed, each input once.
func (c *coordination) lookAll(ctx context.Context) error {
	due := map[input]bool{}
	for _, in := range c.changed.take() {
		due[in] = true
	}
	for in := epoch; in <= leftovers; in++ {
		if !due[in] {
			continue
		}
		if err := c.s.Retry(ctx, func() error { return c.look(ctx, in) }); err != nil {
			return err
		}
	}
	return nil
}

// watch notes the watch of an input.
func (c *coordination) watch(in input, w *session.Watch) {
	if old := c.watches[in]; old != nil {
		old.Stop()
	}
	c.watches[in] = w
	w.OnFire(func(session.Event) { c.changed.post(in) })
}

// do does what the machine says, until that is nothing but to wait.
func (c *coordination) do(ctx context.Context, s core.Step) error {
	for {
		c.wake = s.Wake
		if s.AwaitMoves != nil {
			c.moving.follow(s.AwaitMoves)
			c.changed.post(moves)
		}
		if s.Planned {
			c.planned(s.Err)
		}
		switch {
		case s.Write != nil:
			if err := c.write(ctx, s.Write); err != nil {
				return err
			}
			s = c.machine.Wrote(time.Now())
		case s.SetStatus != nil:
			if err := c.setStatus(ctx, *s.SetStatus); err != nil {
				return err
			}
			c.changed.post(acks)
			s = c.machine.StatusSet(time.Now())
		default:
			return nil
		}
	}
}
