package core

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
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
	w, plan, err := c.planShares(now)
	if err != nil {
		return Step{Planned: true, Err: err}
	}
	if len(w.Set) == 0 && len(w.Delete) == 0 && !c.force {
		return Step{Planned: true, Wake: c.nextDeparture()}
	}
	if c.cfg.Mode == Resource && c.cfg.MaxMoves > 0 {
		c.noteMoves(w, plan)
	}
	c.stage, c.last, c.next, c.force, c.fresh = writing, now, w.Generation, false, false
	c.current = plan
	for _, key := range w.Delete {
		delete(c.gone, key)
	}
	return Step{Planned: true, Write: w}
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

// isExpected reports whether the member of key, which has gone, may still come back to
// its assignment.
func (c *Coordinator) isExpected(key string, now time.Time) bool {
	since, gone := c.gone[key]
	return gone && c.current[key].Client != key && now.Before(since.Add(c.cfg.DepartureDelay))
}

// planShares shares the resources out. It returns the write to make, and the shards after
// that write. Members that are expected back keep their resources, whatever the others
// get.
func (c *Coordinator) planShares(now time.Time) (*Write, map[string]Shard, error) {
	w := &Write{Generation: c.highestGeneration() + 1, Set: map[string]Shard{}}
	plan, reserved := map[string]Shard{}, map[string]bool{}
	for key, was := range c.current {
		switch _, alive := c.members[key]; {
		case alive:
		case c.isExpected(key, now):
			plan[key] = was
			for _, r := range was.Resources {
				reserved[r] = true
			}
		default:
			w.Delete = append(w.Delete, key)
		}
	}
	slices.Sort(w.Delete)
	// Two shards may have the same resource if a coordinator was lost while it
	// wrote them. Then a live member takes precedence over a member that may
	// come back.
	for key := range c.members {
		for _, r := range c.current[key].Resources {
			delete(reserved, r)
		}
	}
	ms := c.sharingMembers()
	shares, err := c.assignShares(ms, reserved)
	if err != nil {
		return nil, nil, err
	}
	var spare []string
	for i, m := range ms {
		was, known := c.current[m.Key]
		s := Shard{Client: c.members[m.Key].Client, Generation: w.Generation, Resources: shares[i]}
		if known && s.Client == was.Client && slices.Equal(s.Resources, was.Resources) {
			plan[m.Key] = was
			continue
		}
		if plan[m.Key] = s; !known && len(s.Resources) == 0 {
			spare = append(spare, m.Key)
			continue
		}
		w.Set[m.Key] = s
	}
	c.emptyBarred(w, plan)
	// A member that gets nothing gets a shard as well, along with the other shards:
	// the member may be working on an assignment whose shard was deleted by hand.
	if len(w.Set) > 0 || len(w.Delete) > 0 || c.force {
		for _, key := range spare {
			w.Set[key] = plan[key]
		}
	}
	return w, plan, nil
}

// emptyBarred takes from barred members what they were assigned.
func (c *Coordinator) emptyBarred(w *Write, plan map[string]Shard) {
	for key, m := range c.members {
		if !m.Barred {
			continue
		}
		if plan[key] = c.current[key]; len(plan[key].Resources) > 0 {
			plan[key] = Shard{Client: m.Client, Generation: w.Generation}
			w.Set[key] = plan[key]
		}
	}
}

// assignShares returns the resources of each of ms, without the reserved ones.
func (c *Coordinator) assignShares(ms []assignor.Member, reserved map[string]bool) ([][]string, error) {
	rs := make([]assignor.Resource, 0, len(c.resources))
	for _, name := range c.resources {
		if !reserved[name] {
			rs = append(rs, assignor.Resource{Name: name})
		}
	}
	out := c.cfg.Assignor.Assign(ms, rs)
	if !c.trustsAssignor() {
		if err := assignor.Check(ms, rs, out); err != nil {
			return nil, err
		}
	}
	if c.cfg.MaxMoves == 0 {
		return out, nil
	}
	room := c.cfg.MaxMoves - len(c.moves)
	if room <= 0 {
		room = -1 // 0 would mean no limit
	}
	return assignor.Limit(ms, out, room), nil
}

// trustsAssignor reports whether the assignor is one of ours, whose results need no check.
func (c *Coordinator) trustsAssignor() bool {
	ours, err := assignor.ByName(c.cfg.Assignor.Name())
	return err == nil && ours == c.cfg.Assignor
}

// noteMoves adds the moves that w begins to the moves in progress, and drops the moves that the
// plan has replaced or ended: the end of such a move would never be observed.
func (c *Coordinator) noteMoves(w *Write, plan map[string]Shard) {
	owner := map[string]string{}
	for _, s := range plan {
		for _, r := range s.Resources {
			owner[r] = s.Client
		}
	}
	c.moves = slices.DeleteFunc(c.moves, func(m Move) bool { return owner[m.Resource] != m.Client })
	for key, s := range c.current {
		if _, alive := c.members[key]; !alive {
			continue
		}
		for _, r := range s.Resources {
			if to, still := owner[r]; still && !plan[key].hasResource(r) {
				c.moves = append(c.moves, Move{Resource: r, Client: to, Generation: w.Generation})
			}
		}
	}
	slices.SortFunc(c.moves, func(a, b Move) int { return strings.Compare(a.Resource, b.Resource) })
}

// sharingMembers returns the members that share the resources, in the order of
// their keys.
func (c *Coordinator) sharingMembers() []assignor.Member {
	var ms []assignor.Member
	for _, key := range slices.Sorted(maps.Keys(c.members)) {
		m := c.members[key]
		if m.Barred {
			continue
		}
		ms = append(ms, assignor.Member{
			Key: key, Weight: m.Weight, Zone: m.Zone, Subscription: m.Subscription, Held: c.current[key].Resources,
		})
	}
	return ms
}
