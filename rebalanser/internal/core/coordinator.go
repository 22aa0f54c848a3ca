package core

import (
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// Config is the configuration of a coordinator. Durations of zero mean: at once.
type Config struct {
	Mode     Mode
	Assignor assignor.Assignor
	// InitialDelay is how long a group without any assignment waits for more
	// members, from the first member on.
	InitialDelay time.Duration
	// DepartureDelay is how long a static member that has gone keeps its assignment,
	// in case it comes back.
	DepartureDelay time.Duration
	// MinInterval is the minimum time between the beginnings of two rebalancings.
	MinInterval time.Duration
	// MaxMoves is how many resources are taken from living members at a time;
	// 0: any number. Moves that a coordinator before had begun come on top.
	MaxMoves int
}

// Member is a live client.
type Member struct {
	Client string // its node's name; never used twice
	Key    string // of its shard: the static instance's id, or Client
	Static bool
	// Barred: the member's record cannot be read. It is given nothing, and its Key is not
	// known. A shard that names the member stays, without resources, as long as the member
	// lives: it may be working on the shard's former resources, and must give them up like
	// any other member.
	Barred bool

	Weight       int
	Zone         string
	Subscription []string
}

// Step is the next step of a coordinator. At most one Write or SetStatus is in progress
// at a time.
type Step struct {
	// Plan is to be computed, instead of any plan before; see Planned. Meanwhile the
	// coordinator takes all inputs.
	Plan      *Plan
	Write     *Write
	SetStatus *Status
	// AwaitMoves, unless it is nil, are the moves to watch from now on, instead
	// of those before; see Moved.
	AwaitMoves []Move
	// Planned: the resources were assigned again, or Err says why not.
	Planned bool
	// Err says why a rebalancing that is due cannot begin: the assignor's result is
	// not an assignment. The rebalancing is retried when something changes.
	Err error
	// Wake is when Tick is to be called, unless something else is before; zero:
	// there is nothing to wait for.
	Wake time.Time
}

// Write has the parts of a plan that differ from the written shards.
type Write struct {
	Generation int64
	Set        map[string]Shard // by key
	Delete     []string         // keys
}

// Move is a resource on its way from one living client to another. The generation
// tells it from others of the same two.
type Move struct {
	Resource, Client string
	Generation       int64
}

// stage is the event that a coordinator waits for.
type stage int

const (
	idle       stage = iota
	planning         // Planned
	writing          // Wrote
	stopping         // StatusSet of Stop, and then the acks
	assigning        // StatusSet of Assigned
	starting         // the end of the acks
	confirming       // StatusSet of Confirmed
)

// Coordinator is one election's coordinator. Its methods take the reads and the
// finished actions, and return the next actions; they are not safe for concurrent
// use. The runner makes the writes, each conditional on the epoch.
type Coordinator struct {
	cfg     Config
	began   time.Time
	fresh   bool             // no member had an assignment
	current map[string]Shard // by key, with those that are being written
	status  Status

	members   map[string]Member // by key; nil: not told yet
	resources []string          // sorted
	known     bool              // resources were told
	// gone is since when no live member has the key of a shard.
	gone   map[string]time.Time
	paused bool

	stage stage
	plan  *Plan // that is being computed
	hasty bool  // the plan before was dropped for a newer one
	dirty bool  // something has changed since the last plan
	force bool  // global mode: a generation is due, even if no shard changes
	last  time.Time
	set   bool  // the status that was to be set is
	next  int64 // generation of the last writing
	// Resource mode with MaxMoves: the moves in progress, including those that are
	// being written, and the moves among them that are being watched.
	moves, watched []Move
}

// NewCoordinator makes the machine of a coordinator that has just been elected.
// current are the shards, by key, and status is the group's. Both were read after
// the epoch of this coordinator was written, so no other client writes them any
// more.
func NewCoordinator(cfg Config, now time.Time, current map[string]Shard, status Status) *Coordinator {
	c := &Coordinator{
		cfg: cfg, began: now, current: maps.Clone(current), status: status,
		gone: map[string]time.Time{}, dirty: true, force: cfg.Mode == Global,
	}
	if c.current == nil {
		c.current = map[string]Shard{}
	}
	c.fresh = true
	for _, s := range current {
		c.fresh = c.fresh && len(s.Resources) == 0
	}
	return c
}

// Members tells the live members, in the order of their joins. Of two members with the
// same key the member named by the shard counts, or else the first. A member whose own
// name is the key takes precedence over both.
func (c *Coordinator) Members(now time.Time, ms []Member) Step {
	c.members = map[string]Member{}
	for _, m := range ms {
		if m.Barred {
			continue
		}
		other, twice := c.members[m.Key]
		named := m.Client == c.current[m.Key].Client && other.Client != m.Key
		if !twice || named || m.Client == m.Key {
			c.members[m.Key] = m
		}
	}
	c.addBarred(ms)
	c.noteGone(now)
	c.dropPlan()
	c.dirty = true
	return c.startRebalancing(now)
}

// Resources tells the coordinator the resources to share out.
func (c *Coordinator) Resources(now time.Time, rs []string) Step {
	rs = slices.Clone(rs)
	slices.Sort(rs)
	c.resources, c.known = slices.Compact(rs), true
	c.dropPlan()
	c.dirty = true
	return c.startRebalancing(now)
}

// Paused tells whether the group is paused: the rebalancing in progress is finished, and
// no other begins. A coordinator that succeeds a coordinator that was lost during a
// rebalancing finishes it with a generation of its own: otherwise the members that were
// stopped would stay stopped.
func (c *Coordinator) Paused(now time.Time, paused bool) Step {
	c.dirty = c.dirty || c.paused && !paused
	c.paused = paused
	return c.startRebalancing(now)
}

// Tick tells the time.
func (c *Coordinator) Tick(now time.Time) Step { return c.startRebalancing(now) }

// Wrote tells that the last Write has been carried out.
func (c *Coordinator) Wrote(now time.Time) Step {
	if c.stage != writing {
		return c.startRebalancing(now)
	}
	if c.cfg.Mode == Global {
		c.stage = stopping
		return c.putStatus(now, Stop)
	}
	c.stage = idle
	s := c.startRebalancing(now)
	if c.cfg.MaxMoves > 0 {
		c.watched = append([]Move{}, c.moves...)
		s.AwaitMoves = slices.Clone(c.watched)
	}
	return s
}

// Moved tells which of the moves to watch are not over yet: their resources are not
// with the clients that they are for, and these have not gone.
func (c *Coordinator) Moved(now time.Time, left []Move) Step {
	over := map[Move]bool{}
	for _, m := range c.watched {
		over[m] = true
	}
	for _, m := range left {
		delete(over, m)
	}
	before := len(c.moves)
	c.watched = slices.Clone(left)
	c.moves = slices.DeleteFunc(c.moves, func(m Move) bool { return over[m] })
	c.dirty = c.dirty || len(c.moves) < before // there is room for more
	return c.startRebalancing(now)
}

// putStatus asks for the status to be set.
func (c *Coordinator) putStatus(now time.Time, state State) Step {
	if state == Stop {
		c.status.Generation = c.next
	}
	c.status.State, c.set = state, false
	next := c.status
	s := c.startRebalancing(now)
	s.SetStatus = &next
	return s
}

// StatusSet tells that the last SetStatus has been carried out.
func (c *Coordinator) StatusSet(now time.Time) Step {
	c.set = true
	switch c.stage {
	case assigning:
		c.stage = starting
	case confirming:
		c.stage, c.dirty = idle, c.dirty || c.cfg.MaxMoves > 0
	}
	return c.startRebalancing(now)
}

// Acks tells the live clients, barred ones included, as listed after the last status was
// set, and the generation that each client has acknowledged to have stopped. Acks must be
// called after each StatusSet, and with every later change.
//
// The coordinator waits only for clients that are named in a shard: no other client was
// ever assigned a resource, or can be running one. So a client that is unable to take part
// does not delay the others.
func (c *Coordinator) Acks(now time.Time, clients []string, acks map[string]int64) Step {
	if !c.set {
		return c.startRebalancing(now)
	}
	switch c.stage {
	case stopping:
		named := make(map[string]bool, len(c.current))
		for _, s := range c.current {
			named[s.Client] = true
		}
		for _, client := range clients {
			if named[client] && acks[client] != c.status.Generation {
				return c.startRebalancing(now)
			}
		}
		c.stage = assigning
		return c.putStatus(now, Assigned)
	case starting:
		for _, client := range clients {
			if acks[client] == c.status.Generation {
				return c.startRebalancing(now)
			}
		}
		c.stage = confirming
		return c.putStatus(now, Confirmed)
	}
	return c.startRebalancing(now)
}

// AwaitsAcks reports whether the coordinator waits for acknowledgments, or their end.
func (c *Coordinator) AwaitsAcks() bool { return c.set && (c.stage == stopping || c.stage == starting) }

// highestGeneration is the highest that has been written, as far as anything tells.
func (c *Coordinator) highestGeneration() int64 {
	g := max(c.status.Generation, c.next)
	for _, s := range c.current {
		g = max(g, s.Generation)
	}
	return g
}
