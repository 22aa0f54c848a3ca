package core

import (
	"slices"
	"strings"
	"time"
)

// startRebalancing begins a rebalancing, if one is due.
func (c *Coordinator) startRebalancing(now time.Time) Step {
	if c.stage != idle || c.members == nil || !c.known || c.paused && !c.isHalfway() {
		return Step{}
	}
	if at := c.nextDue(now); now.Before(at) {
		return Step{Wake: at}
	} else if at.IsZero() && !c.dirty {
		return Step{}
	}
	c.dirty = false
	c.stage, c.plan = planning, c.newPlan(now)
	return Step{Plan: c.plan}
}

// dropPlan drops the plan that is being computed, as an input of it has changed, unless the
// plan before was dropped as well: a group that never comes to rest needs plans too.
func (c *Coordinator) dropPlan() {
	if c.stage == planning && !c.hasty {
		c.stage, c.plan, c.hasty = idle, nil, true
	}
}

// Planned tells the result of the last Plan. A plan whose inputs have changed meanwhile is
// as good as a plan that was written just before the change.
func (c *Coordinator) Planned(now time.Time, p *Plan, r Result) Step {
	if c.stage != planning || p != c.plan {
		return c.startRebalancing(now)
	}
	c.stage, c.plan = idle, nil
	if c.paused && !c.isHalfway() {
		c.dirty = true
		return Step{}
	}
	c.hasty = false
	if w := r.write; r.err == nil && (len(w.Set) > 0 || len(w.Delete) > 0 || c.force) {
		return c.beginWrite(now, p, r)
	}
	s := Step{}
	switch {
	case c.dirty:
		s = c.startRebalancing(now)
	case r.err == nil:
		s.Wake = c.nextDeparture()
	}
	s.Planned, s.Err = true, r.err
	return s
}

// beginWrite begins to write the result of a plan.
func (c *Coordinator) beginWrite(now time.Time, p *Plan, r Result) Step {
	w := r.write
	if c.cfg.Mode == Resource && c.cfg.MaxMoves > 0 {
		c.noteMoves(p, r.shards)
	}
	c.stage, c.last, c.next, c.force, c.fresh = writing, now, w.Generation, false, false
	c.current = r.shards
	for _, key := range w.Delete {
		delete(c.gone, key)
	}
	c.noteGone(now) // of members that have gone since the plan was begun
	return Step{Planned: true, Write: w}
}

// noteGone notes since when no live member has the key of a shard.
func (c *Coordinator) noteGone(now time.Time) {
	for key := range c.current {
		if _, alive := c.members[key]; alive {
			delete(c.gone, key)
		} else if _, noted := c.gone[key]; !noted {
			c.gone[key] = now
		}
	}
}

// isHalfway reports whether another coordinator has stopped the members, for a
// generation that it has not finished.
func (c *Coordinator) isHalfway() bool {
	return c.force && c.status.Generation > 0 && c.status.State == Stop
}

// nextDue is when the next plan is: not after now, if it is now; zero, if nothing is to be
// planned, or something that nothing delays.
func (c *Coordinator) nextDue(now time.Time) time.Time {
	at := c.nextDeparture()
	if c.dirty {
		at = time.Time{}
	} else if at.IsZero() {
		return at
	}
	if from := c.began.Add(c.cfg.InitialDelay); c.fresh && from.After(at) {
		at = from
	}
	if from := c.last.Add(c.cfg.MinInterval); !c.last.IsZero() && from.After(at) {
		at = from
	}
	return at
}

// nextDeparture is when the first static member that has gone is, or was, to be given up;
// zero if none is.
func (c *Coordinator) nextDeparture() time.Time {
	var first time.Time
	for _, since := range c.gone {
		if at := since.Add(c.cfg.DepartureDelay); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// noteMoves adds the moves that a plan begins to the moves in progress, and drops the moves
// that the plan has replaced or ended: the end of such a move would never be observed. A
// member that has come back since the plan was begun gives up nothing: the client that owned
// its resources has gone.
func (c *Coordinator) noteMoves(p *Plan, plan map[string]Shard) {
	owner := map[string]string{}
	for _, s := range plan {
		for _, r := range s.Resources {
			owner[r] = s.Client
		}
	}
	c.moves = slices.DeleteFunc(c.moves, func(m Move) bool { return owner[m.Resource] != m.Client })
	for key, s := range c.current {
		if _, alive := p.members[key]; !alive {
			continue
		}
		for _, r := range s.Resources {
			if to, still := owner[r]; still && !plan[key].hasResource(r) {
				c.moves = append(c.moves, Move{Resource: r, Client: to, Generation: p.generation})
			}
		}
	}
	slices.SortFunc(c.moves, func(a, b Move) int { return strings.Compare(a.Resource, b.Resource) })
}
